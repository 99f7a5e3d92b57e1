// Each block of a cluster reads the array of the next one.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void ring(int* out) {
    __shared__ int s[32];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank();
    s[threadIdx.x] = blockIdx.x * 100 + threadIdx.x; //~ ERROR[shared-race]
    __syncthreads();
    int* next = cluster.map_shared_rank(s, (rank + 1) % cluster.num_blocks());
    out[blockIdx.x * 32 + threadIdx.x] = next[31 - threadIdx.x]; //~ ERROR[shared-race] //~ ERROR[uninitialised-read]
    cluster.sync();
}
