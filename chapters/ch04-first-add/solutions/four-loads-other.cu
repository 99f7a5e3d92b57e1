// Another solution of four-loads: all four at once where the slice is full, one by one where it is not.
constexpr unsigned int MAX_BLOCK = 1024;

template <typename T>
__device__ void four_loads(const T* in, T* out, unsigned int n) {
    __shared__ T sums[MAX_BLOCK];
    unsigned int tid = threadIdx.x;

    unsigned int i = blockIdx.x * (blockDim.x * 4) + tid;
    unsigned int b = blockDim.x;
    T sum = T(0);
    if (i + 3 * b < n) {
        sum = (in[i] + in[i + b]) + (in[i + 2 * b] + in[i + 3 * b]);
    } else {
        for (; i < n; i += b) sum += in[i];
    }

    sums[tid] = sum;
    __syncthreads();

    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) {
            sums[tid] += sums[tid + s];
        }
        __syncthreads();
    }

    if (tid == 0) {
        out[blockIdx.x] = sums[0];
    }
}

extern "C" __global__ void four_loads_i32(const unsigned int* in, unsigned int* out, unsigned int n) {
    four_loads(in, out, n);
}
extern "C" __global__ void four_loads_f32(const float* in, float* out, unsigned int n) {
    four_loads(in, out, n);
}
