// Wrong: the page's other tree. The sum is right, and the pairs are not neighbours.
template <typename T>
__device__ void neighbours(T* data, T* out, unsigned int n) {
    unsigned int start = blockIdx.x * (blockDim.x * 2);
    unsigned int i = start + threadIdx.x;

    for (unsigned int stride = blockDim.x; stride > 0; stride /= 2) {
        if (threadIdx.x < stride && i + stride < n) {
            data[i] += data[i + stride];
        }
        __syncthreads();
    }

    if (threadIdx.x == 0) {
        out[blockIdx.x] = data[start];
    }
}

extern "C" __global__ void neighbours_i32(unsigned int* data, unsigned int* out, unsigned int n) {
    neighbours(data, out, n);
}
extern "C" __global__ void neighbours_f32(float* data, float* out, unsigned int n) {
    neighbours(data, out, n);
}
