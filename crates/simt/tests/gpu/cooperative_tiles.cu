// Tiles and partitions of cooperative groups: shuffles, votes and reductions of parts of warps.
// simt: --kernel cooperative_tiles --grid 2 --block 64 --arg in=u32[128]:hash8 --arg out=u32[768]:zero --print out
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

extern "C" __global__ void cooperative_tiles(const unsigned* in, unsigned* out) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, x = in[i];
    unsigned* mine = out + 6 * i;
    mine[0] = cg::reduce(tile, x, cg::plus<unsigned>());
    mine[1] = cg::reduce(warp, x, cg::greater<unsigned>());
    mine[2] = tile.shfl_down(x, 2) + tile.meta_group_rank();
    mine[3] = tile.ballot(x > 128) * 2 + tile.any(x > 250);
    cg::coalesced_group same = cg::labeled_partition(warp, x % 5);
    mine[4] = cg::reduce(same, x, cg::plus<unsigned>()) + same.shfl(x, same.size() - 1);
    mine[5] = same.size() * 100 + same.thread_rank();
}
