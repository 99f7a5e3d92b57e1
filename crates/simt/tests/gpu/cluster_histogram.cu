// A histogram whose bins lie spread over the shared memory of a cluster.
// simt: --kernel cluster_histogram --grid 8 --block 128 --cluster 4 --shared 256 --arg in=u32[8192]:hash8 --arg bins=u32[256]:zero --print bins
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void cluster_histogram(const unsigned* in, unsigned* bins) {
    extern __shared__ unsigned part[];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned per_block = 256 / cluster.num_blocks();
    for (unsigned i = threadIdx.x; i < per_block; i += blockDim.x) part[i] = 0;
    cluster.sync();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < 8192; i += gridDim.x * blockDim.x) {
        unsigned bin = in[i] & 255;
        atomicAdd(cluster.map_shared_rank(part, bin / per_block) + bin % per_block, 1);
    }
    cluster.sync();
    for (unsigned i = threadIdx.x; i < per_block; i += blockDim.x) {
        atomicAdd(bins + cluster.block_rank() * per_block + i, part[i]);
    }
}
