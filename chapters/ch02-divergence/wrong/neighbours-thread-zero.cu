// Wrong: the tree is right, and thread 0 makes it alone.
template <typename T>
__device__ void neighbours(T* data, T* out, unsigned int n) {
    unsigned int start = 2 * blockIdx.x * blockDim.x;
    if (threadIdx.x == 0) {
        for (unsigned int stride = 1; stride <= blockDim.x; stride *= 2) {
            for (unsigned int i = start; i < start + 2 * blockDim.x && i + stride < n; i += 2 * stride) {
                data[i] += data[i + stride];
            }
        }
        out[blockIdx.x] = data[start];
    }
}

extern "C" __global__ void neighbours_i32(unsigned int* data, unsigned int* out, unsigned int n) {
    neighbours(data, out, n);
}
extern "C" __global__ void neighbours_f32(float* data, float* out, unsigned int n) {
    neighbours(data, out, n);
}
