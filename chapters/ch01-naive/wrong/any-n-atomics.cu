// Wrong: the sum is right, and it is no tree: the additions of a block wait for each other at one word.
template <typename T>
__device__ void any_n(T* data, T* out, unsigned int n) {
    __shared__ T total;
    if (threadIdx.x == 0) total = T(0);
    __syncthreads();
    T sum = T(0);
    for (unsigned int k = 0; k < 2; k++) {
        unsigned int i = (2 * blockIdx.x + k) * blockDim.x + threadIdx.x;
        if (i < n) sum += data[i];
    }
    atomicAdd(&total, sum);
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = total;
}

extern "C" __global__ void any_n_i32(unsigned int* data, unsigned int* out, unsigned int n) {
    any_n(data, out, n);
}
extern "C" __global__ void any_n_f32(float* data, float* out, unsigned int n) {
    any_n(data, out, n);
}
