// Wrong: the test of the last element is taken for all four, and a thread that has three brings none.
constexpr unsigned int MAX_BLOCK = 1024;

template <typename T>
__device__ void four_loads(const T* in, T* out, unsigned int n) {
    __shared__ T sums[MAX_BLOCK];
    unsigned int tid = threadIdx.x;

    unsigned int i = blockIdx.x * (blockDim.x * 4) + tid;
    T sum = T(0);
    if (i + 3 * blockDim.x < n) {
        for (unsigned int k = 0; k < 4; k++) {
            sum += in[i + k * blockDim.x];
        }
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
