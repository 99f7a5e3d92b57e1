// Wrong: a thread without work leaves the loop, and with it the barrier that the others wait at.
template <typename T>
__device__ void any_n(T* data, T* out, unsigned int n) {
    unsigned int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);

    for (unsigned int stride = 1; stride <= blockDim.x; stride *= 2) {
        if (threadIdx.x % stride != 0 || i + stride >= n) {
            break;
        }
        data[i] += data[i + stride];
        __syncthreads();
    }

    if (threadIdx.x == 0) {
        out[blockIdx.x] = data[i];
    }
}

extern "C" __global__ void any_n_i32(unsigned int* data, unsigned int* out, unsigned int n) {
    any_n(data, out, n);
}
extern "C" __global__ void any_n_f32(float* data, float* out, unsigned int n) {
    any_n(data, out, n);
}
