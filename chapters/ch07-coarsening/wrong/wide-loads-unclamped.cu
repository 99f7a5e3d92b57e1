// Wrong: an array may end before the first address that a pack may have.
constexpr unsigned int MAX_BLOCK = 1024;

template <typename T>
struct alignas(16) Pack { // what CUDA calls int4 and float4
    T at[4];
};

template <typename T>
__device__ void wide_loads(const T* in, T* out, unsigned int n) {
    __shared__ T sums[MAX_BLOCK];
    unsigned int tid = threadIdx.x;
    unsigned int grid_size = blockDim.x * gridDim.x;

    unsigned int past = reinterpret_cast<size_t>(in) / 4 % 4;
    unsigned int head = (4 - past) % 4;
    unsigned int packs = (n - head) / 4;
    unsigned int tail = head + packs * 4;
    const Pack<T>* packed = reinterpret_cast<const Pack<T>*>(in + head);

    T sum = T(0);
    for (unsigned int i = blockIdx.x * blockDim.x + tid; i < packs; i += grid_size) {
        Pack<T> pack = packed[i];
        sum += pack.at[0] + pack.at[1] + pack.at[2] + pack.at[3];
    }
    if (blockIdx.x == 0) {
        if (tid < head) sum += in[tid];
        if (tail + tid < n) sum += in[tail + tid];
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

extern "C" __global__ void wide_loads_i32(const unsigned int* in, unsigned int* out, unsigned int n) {
    wide_loads(in, out, n);
}
extern "C" __global__ void wide_loads_f32(const float* in, float* out, unsigned int n) {
    wide_loads(in, out, n);
}
