// Wrong: thread 0 collects the odd sum in a round of its own, with a barrier of its own.
constexpr unsigned int MAX_BLOCK = 1024;

template <typename T>
__device__ void any_block(const T* in, T* out, unsigned int n) {
    __shared__ T sums[MAX_BLOCK];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + tid;
    sums[tid] = i < n ? in[i] : T(0);
    __syncthreads();

    for (unsigned int left = blockDim.x; left > 1; left /= 2) {
        if (left % 2 == 1 && tid == 0) {
            sums[0] += sums[left - 1];
        }
        __syncthreads();
        if (tid < left / 2) {
            sums[tid] += sums[tid + left / 2];
        }
        __syncthreads();
    }

    if (tid == 0) {
        out[blockIdx.x] = sums[0];
    }
}

extern "C" __global__ void any_block_i32(const unsigned int* in, unsigned int* out, unsigned int n) {
    any_block(in, out, n);
}
extern "C" __global__ void any_block_f32(const float* in, float* out, unsigned int n) {
    any_block(in, out, n);
}
