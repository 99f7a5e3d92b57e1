// Blocks of a cluster read each other's shared memory, all the way round.
// simt: --kernel cluster_ring --grid 12 --block 64 --arg out=u32[3072]:zero --print out
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ __cluster_dims__(4) void cluster_ring(unsigned* out) {
    __shared__ unsigned s[64];
    __shared__ unsigned char bytes[64];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned t = threadIdx.x, rank = cluster.block_rank();
    s[t] = blockIdx.x * 1000 + t;
    bytes[t] = t * 5 + rank;
    cluster.sync();
    unsigned* mine = out + (blockIdx.x * 64 + t) * 4;
    for (unsigned step = 0; step < 4; step++) {
        unsigned from = (rank + step) % cluster.num_blocks();
        unsigned* theirs = cluster.map_shared_rank(s, from);
        unsigned char* their_bytes = cluster.map_shared_rank(bytes, from);
        mine[step] = theirs[63 - t] * 10 + their_bytes[(t + step) % 64] % 10 + cluster.query_shared_rank(theirs) - from;
    }
    cluster.sync();
}
