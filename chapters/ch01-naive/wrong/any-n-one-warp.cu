// Wrong: the sum is right, and one warp of the block makes it alone.
template <typename T>
__device__ void any_n(T* data, T* out, unsigned int n) {
    __shared__ T sums[32];
    unsigned int tid = threadIdx.x;
    unsigned int start = 2 * blockIdx.x * blockDim.x;
    if (tid < 32) {
        T sum = T(0);
        for (unsigned int i = start + tid; i < start + 2 * blockDim.x && i < n; i += 32) sum += data[i];
        sums[tid] = sum;
        __syncwarp();
        if (tid == 0) {
            for (unsigned int k = 1; k < 32; k++) sum += sums[k];
            out[blockIdx.x] = sum;
        }
    }
}

extern "C" __global__ void any_n_i32(unsigned int* data, unsigned int* out, unsigned int n) {
    any_n(data, out, n);
}
extern "C" __global__ void any_n_f32(float* data, float* out, unsigned int n) {
    any_n(data, out, n);
}
