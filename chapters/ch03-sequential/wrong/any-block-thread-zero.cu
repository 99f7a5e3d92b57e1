// Wrong: the sum is right, and thread 0 makes it alone.
constexpr unsigned int MAX_BLOCK = 1024;

template <typename T>
__device__ void any_block(const T* in, T* out, unsigned int n) {
    __shared__ T sums[MAX_BLOCK];
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    sums[threadIdx.x] = i < n ? in[i] : T(0);
    __syncthreads();
    if (threadIdx.x == 0) {
        T sum = T(0);
        for (unsigned int k = 0; k < blockDim.x; k++) sum += sums[k];
        out[blockIdx.x] = sum;
    }
}

extern "C" __global__ void any_block_i32(const unsigned int* in, unsigned int* out, unsigned int n) {
    any_block(in, out, n);
}
extern "C" __global__ void any_block_f32(const float* in, float* out, unsigned int n) {
    any_block(in, out, n);
}
