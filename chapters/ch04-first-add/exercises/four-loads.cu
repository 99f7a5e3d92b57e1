// Exercise four-loads: every thread adds four elements on the way in, so that a block sums 4 * blockDim.x.
//
// Below, a block takes one element a thread, from a slice of four. Blocks are a power of two; out gets one sum a block.

constexpr unsigned int MAX_BLOCK = 1024;

// ANCHOR: starter
template <typename T>
__device__ void four_loads(const T* in, T* out, unsigned int n) {
    __shared__ T sums[MAX_BLOCK];
    unsigned int tid = threadIdx.x;

    unsigned int i = blockIdx.x * (blockDim.x * 4) + tid;
    T sum = i < n ? in[i] : T(0);
    // TODO: three more elements. Which ones, so that the lanes of a warp load neighbours?
    // TODO: which of them are there, when the last block is not full?

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

extern "C" __global__ void four_loads_i32(const unsigned int* in, unsigned int* out, unsigned int n) {
    four_loads(in, out, n);
}
extern "C" __global__ void four_loads_f32(const float* in, float* out, unsigned int n) {
    four_loads(in, out, n);
}
