// Grid-wide barriers in a grid and blocks of three dimensions, with a sum of all blocks behind them.
// simt: --kernel grid_sync_3d --grid 3,2,2 --block 8,4,2 --cooperative --arg parts=u32[12]:zero --arg out=u32[768]:zero --print out --print parts
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void grid_sync_3d(unsigned* parts, unsigned* out) {
    cg::grid_group grid = cg::this_grid();
    cg::thread_block block = cg::this_thread_block();
    __shared__ unsigned sum;
    if (block.thread_rank() == 0) sum = 0;
    block.sync();
    atomicAdd(&sum, (unsigned)grid.thread_rank() * 3 + threadIdx.y);
    block.sync();
    if (block.thread_rank() == 0) parts[grid.block_rank()] = sum;
    grid.sync();
    unsigned total = 0;
    for (unsigned b = 0; b < grid.num_blocks(); b++) total += parts[b] * (b + 1);
    out[grid.thread_rank()] = total + blockIdx.z;
    grid.sync();
    if (grid.thread_rank() == 0) parts[0] = total;
}
