// Blocks of a cluster hand rows to each other by stores and atomics to the other's shared memory.
// simt: --kernel cluster_stores --grid 8 --block 96 --cluster 8 --arg out=u32[768]:zero --arg sums=u32[8]:zero --print out --print sums
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void cluster_stores(unsigned* out, unsigned* sums) {
    __shared__ unsigned inbox[96];
    __shared__ unsigned sum;
    cg::cluster_group cluster = cg::this_cluster();
    unsigned t = threadIdx.x, rank = cluster.block_rank(), n = cluster.num_blocks();
    if (t == 0) sum = 0;
    cluster.sync();
    // Thread t of block r writes slot t of block (r + t) % n.
    unsigned to = (rank + t) % n;
    cluster.map_shared_rank(inbox, to)[t] = rank * 100 + t;
    atomicAdd(cluster.map_shared_rank(&sum, to), t);
    unsigned address, value;
    asm("{ .reg .u64 a; cvta.to.shared.u64 a, %1; cvt.u32.u64 %0, a; }" : "=r"(address) : "l"(&sum));
    asm volatile("{ .reg .u32 there; mapa.shared::cluster.u32 there, %1, %2;"
                 "  atom.relaxed.cluster.shared::cluster.add.u32 %0, [there], 1000; }"
                 : "=r"(value) : "r"(address), "r"(0) : "memory");
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
    out[blockIdx.x * 96 + t] = inbox[t];
    if (t == 0) sums[blockIdx.x] = sum;
    asm volatile("{ .reg .u32 there, rank; mapa.shared::cluster.u32 there, %1, %2; getctarank.shared::cluster.u32 rank, there;"
                 "  ld.shared::cluster.u32 %0, [there]; add.u32 %0, %0, rank; }"
                 : "=r"(value) : "r"(address), "r"(0) : "memory");
    if (t == 1) out[blockIdx.x * 96 + t] += value;
    cluster.sync();
}
