// Wrong: chapter 2's strided index takes any block, and brings its bank conflicts along.
constexpr unsigned int MAX_BLOCK = 1024;

template <typename T>
__device__ void any_block(const T* in, T* out, unsigned int n) {
    __shared__ T sums[MAX_BLOCK];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + tid;
    sums[tid] = i < n ? in[i] : T(0);
    __syncthreads();

    for (unsigned int s = 1; s < blockDim.x; s *= 2) {
        unsigned int index = 2 * s * tid;
        if (index + s < blockDim.x) {
            sums[index] += sums[index + s];
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
