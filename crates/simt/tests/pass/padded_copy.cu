// A build without optimisation (-G) that copies structures with holes in them: groups of cooperative groups, which have such, and a pair
// that goes to global memory and back.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

struct Item {
    char flag;
    double weight;
    int key;
};

extern "C" __global__ void padded_copy(Item* items, double* out) {
    __shared__ Item shared[64];
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    cg::thread_block_tile<32> again = tile;
    unsigned t = block.thread_rank();
    Item item;
    item.flag = t & 1;
    item.weight = 0.5 * t;
    item.key = t;
    shared[t] = item;
    block.sync();
    items[t] = shared[t ^ 33];
    block.sync();
    Item back = items[t];
    double sum = back.flag + back.weight + back.key;
    for (unsigned offset = again.size() / 2; offset > 0; offset /= 2) sum += again.shfl_down(sum, offset);
    if (again.thread_rank() == 0) out[again.meta_group_rank()] = sum;
}
