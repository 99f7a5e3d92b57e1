// Wrong: the sum is right, and thread 0 makes it alone.
template <typename T>
__device__ void one_barrier(const T* in, T* out, unsigned int n) {
    unsigned int start = 2 * blockIdx.x * blockDim.x;
    if (threadIdx.x == 0) {
        T sum = T(0);
        for (unsigned int i = start; i < start + 2 * blockDim.x && i < n; i++) {
            sum += in[i];
        }
        out[blockIdx.x] = sum;
    }
}

extern "C" __global__ void one_barrier_i32(const unsigned int* in, unsigned int* out, unsigned int n) {
    one_barrier(in, out, n);
}
extern "C" __global__ void one_barrier_f32(const float* in, float* out, unsigned int n) {
    one_barrier(in, out, n);
}
