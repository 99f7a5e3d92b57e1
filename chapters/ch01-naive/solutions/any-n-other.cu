// Another solution of any-n: the far half is added to the near half, and the stride comes down.
template <typename T>
__device__ void any_n(T* data, T* out, unsigned int n) {
    unsigned int tid = threadIdx.x;
    unsigned int start = 2 * blockIdx.x * blockDim.x;

    for (unsigned int stride = blockDim.x; stride > 0; stride /= 2) {
        unsigned int i = start + tid;
        if (tid < stride && i + stride < n) {
            data[i] += data[i + stride];
        }
        __syncthreads();
    }

    if (tid == 0) {
        out[blockIdx.x] = data[start];
    }
}

extern "C" __global__ void any_n_i32(unsigned int* data, unsigned int* out, unsigned int n) {
    any_n(data, out, n);
}
extern "C" __global__ void any_n_f32(float* data, float* out, unsigned int n) {
    any_n(data, out, n);
}
