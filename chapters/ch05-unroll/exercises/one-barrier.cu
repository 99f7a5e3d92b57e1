// Exercise one-barrier: a block's sum with a single __syncthreads().
//
// The page unrolls the last warp. Here every warp does at once what the last one did: it sums its own 32 values by
// shuffles, and what is left is one sum a warp. Blocks are a power of two from 32 to 1,024; a block takes two elements a
// thread; out gets one sum a block.

constexpr unsigned int WARP = 32;
constexpr unsigned int ALL = 0xffffffff;
constexpr unsigned int MAX_WARPS = 32; // of 1,024 threads

// ANCHOR: starter
template <typename T>
__device__ void one_barrier(const T* in, T* out, unsigned int n) {
    __shared__ T sums[MAX_WARPS]; // one a warp
    unsigned int tid = threadIdx.x;
    unsigned int lane = tid % WARP;
    unsigned int warp = tid / WARP;

    unsigned int i = blockIdx.x * (blockDim.x * 2) + tid;
    T sum = i < n ? in[i] : T(0);
    if (i + blockDim.x < n) {
        sum += in[i + blockDim.x];
    }

    // TODO: sum the 32 values of this warp by __shfl_down_sync(ALL, sum, offset)
    if (lane == 0) {
        sums[warp] = sum;
    }
    __syncthreads();

    // TODO: one warp sums the sums. How many are there? Which lanes must take part in a shuffle?
    if (tid == 0) {
        out[blockIdx.x] = sums[0];
    }
}
// ANCHOR_END: starter

extern "C" __global__ void one_barrier_i32(const unsigned int* in, unsigned int* out, unsigned int n) {
    one_barrier(in, out, n);
}
extern "C" __global__ void one_barrier_f32(const float* in, float* out, unsigned int n) {
    one_barrier(in, out, n);
}
