// Wrong: the sum is right, and thread 0 makes it alone.
template <typename T>
__device__ void any_n(T* data, T* out, unsigned int n) {
    unsigned int start = 2 * blockIdx.x * blockDim.x;
    if (threadIdx.x == 0) {
        T sum = T(0);
        for (unsigned int i = start; i < start + 2 * blockDim.x && i < n; i++) {
            sum += data[i];
        }
        out[blockIdx.x] = sum;
    }
}

extern "C" __global__ void any_n_i32(unsigned int* data, unsigned int* out, unsigned int n) {
    any_n(data, out, n);
}
extern "C" __global__ void any_n_f32(float* data, float* out, unsigned int n) {
    any_n(data, out, n);
}
