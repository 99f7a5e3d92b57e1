// Wrong: the sum is right, and it is no tree: the additions of a block wait for each other at one word.
template <typename T>
__device__ void any_block(const T* in, T* out, unsigned int n) {
    __shared__ T total;
    if (threadIdx.x == 0) total = T(0);
    __syncthreads();
    T sum = T(0);
    for (unsigned int k = 0; k < 1; k++) {
        unsigned int i = (1 * blockIdx.x + k) * blockDim.x + threadIdx.x;
        if (i < n) sum += in[i];
    }
    atomicAdd(&total, sum);
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = total;
}

extern "C" __global__ void any_block_i32(const unsigned int* in, unsigned int* out, unsigned int n) {
    any_block(in, out, n);
}
extern "C" __global__ void any_block_f32(const float* in, float* out, unsigned int n) {
    any_block(in, out, n);
}
