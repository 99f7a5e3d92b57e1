// Exercise wide-loads: a grid-stride sum of four-byte elements by loads of 16 bytes, over any array.
//
// Below, every load brings one element. Blocks are a power of two, the grid is any; out gets one sum a block.

constexpr unsigned int MAX_BLOCK = 1024;

// ANCHOR: starter
template <typename T>
struct alignas(16) Pack { // what CUDA calls int4 and float4
    T at[4];
};

template <typename T>
__device__ void wide_loads(const T* in, T* out, unsigned int n) {
    __shared__ T sums[MAX_BLOCK];
    unsigned int tid = threadIdx.x;
    unsigned int grid_size = blockDim.x * gridDim.x;

    // TODO: a Pack a load. Where is the first address that a pack may have?
    // TODO: what lies before it, and what is left at the end?
    T sum = T(0);
    for (unsigned int i = blockIdx.x * blockDim.x + tid; i < n; i += grid_size) {
        sum += in[i];
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
// ANCHOR_END: starter

extern "C" __global__ void wide_loads_i32(const unsigned int* in, unsigned int* out, unsigned int n) {
    wide_loads(in, out, n);
}
extern "C" __global__ void wide_loads_f32(const float* in, float* out, unsigned int n) {
    wide_loads(in, out, n);
}
