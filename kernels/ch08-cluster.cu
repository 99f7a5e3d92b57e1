// Chapter 8, on cards with clusters: one launch in which eight blocks meet.
//
// Idea.   A cluster is a few blocks that run at the same time within one GPC, a group of
//         the card's multiprocessors. They have a barrier of their own, and may read each
//         other's shared memory: their sums meet without a trip to memory. Eight blocks are
//         what every card with clusters allows; an H200 can be asked for 16.
// Limit.  Eight blocks keep a card of 132 multiprocessors busy at a sixteenth. For more
//         data there are more clusters, whose sums do not meet in this launch.
// Worked. 2^17 ints by one cluster of 8 blocks with 256 threads: 64 elements a thread,
//         then 5 + 5 steps within a block and 5 between the blocks. The tree is a warp's
//         of 32 lanes each time; where 8 values meet, two of its 5 steps add zeros.
// Target. compute_90: clusters came with it.

#include <cooperative_groups.h>

constexpr unsigned int WARP = 32;
constexpr unsigned int MAX_WARPS = 32; // of a block, on every card so far

template <typename T>
__device__ T warp_sum(T value) {
    for (unsigned int offset = WARP / 2; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(0xffffffff, value, offset);
    }
    return value;
}

// Right in warp 0.
template <typename T>
__device__ T block_sum(T value) {
    __shared__ T of_warps[MAX_WARPS];
    unsigned int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    value = warp_sum(value);
    if (lane == 0) of_warps[warp] = value;
    __syncthreads();
    if (warp == 0) value = warp_sum(lane < blockDim.x / WARP ? of_warps[lane] : T(0));
    return value;
}

// A thread's share, eight loads in flight at once.
template <typename T>
__device__ T sum_share(const T* in, unsigned int n) {
    constexpr unsigned int TOGETHER = 8;
    T sum = 0;
    unsigned long long stride = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
    unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + (TOGETHER - 1) * stride < n; i += TOGETHER * stride) {
        T loaded[TOGETHER];
        for (unsigned int k = 0; k < TOGETHER; k++) loaded[k] = in[i + k * stride];
        for (unsigned int k = 0; k < TOGETHER; k++) sum += loaded[k];
    }
    for (; i < n; i += stride) sum += in[i];
    return sum;
}

// ANCHOR: cluster
template <typename T>
__device__ void cluster(const T* in, T* out, unsigned int n) {
    __shared__ T of_block;
    auto blocks = cooperative_groups::this_cluster();
    T sum = block_sum(sum_share(in, n));
    if (threadIdx.x == 0) of_block = sum;
    blocks.sync(); // every block's sum is in its shared memory
    if (blocks.block_rank() == 0 && threadIdx.x < WARP) {
        bool has_block = threadIdx.x < blocks.num_blocks();
        sum = warp_sum(has_block ? *blocks.map_shared_rank(&of_block, threadIdx.x) : T(0));
        if (threadIdx.x == 0) out[blockIdx.x / blocks.num_blocks()] = sum;
    }
    blocks.sync(); // no block leaves while its shared memory is read
}
// ANCHOR_END: cluster

extern "C" __global__ void cluster_i32(const unsigned int* in, unsigned int* out, unsigned int n) {
    cluster(in, out, n);
}
extern "C" __global__ void cluster_f32(const float* in, float* out, unsigned int n) {
    cluster(in, out, n);
}
extern "C" __global__ void cluster_f64(const double* in, double* out, unsigned int n) {
    cluster(in, out, n);
}
