// Chapter 5's last warp as a tile of cooperative groups: the A100 article's Kernel 4, with a guard for each of its loads.

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

constexpr unsigned int MAX_BLOCK = 1024; // most threads of a block, on every card so far

extern "C" __global__ void tile_i32(const unsigned int* in, unsigned int* out, unsigned int n) {
    __shared__ unsigned int sums[MAX_BLOCK];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (blockDim.x * 2) + tid;
    unsigned int sum = i < n ? in[i] : 0;
    if (i + blockDim.x < n) {
        sum += in[i + blockDim.x];
    }
    sums[tid] = sum;

    // ANCHOR: aside
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    cg::sync(block); // __syncthreads()

    for (unsigned int s = blockDim.x / 2; s > 32; s >>= 1) {
        if (tid < s) sums[tid] = sum = sum + sums[tid + s];
        cg::sync(block);
    }
    if (block.thread_rank() < 32) {
        sum += sums[tid + 32];
        for (unsigned int offset = tile.size() / 2; offset > 0; offset /= 2) {
            sum += tile.shfl_down(sum, offset); // __shfl_down_sync with the tile's mask
        }
        if (tile.thread_rank() == 0) out[blockIdx.x] = sum;
    }
    // ANCHOR_END: aside
}
