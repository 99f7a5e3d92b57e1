// sums through atomics on the first block's shared memory, split arrive / wait
// simt: --kernel cluster_atomic --grid 6 --block 64 --cluster 2 --arg in=i32[600]:rand(58) --arg out=i32[3]:zero --arg n=i32:600 --print out
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void cluster_atomic(const int *in, int *out, int n)
{
    __shared__ int sum;
    cg::cluster_group c = cg::this_cluster();
    if (threadIdx.x == 0) sum = 0;
    c.sync();
    int pair = blockIdx.x / 2, a = 0;
    for (int i = pair * 200 + c.thread_rank(); i < min(n, pair * 200 + 200); i += c.num_threads()) a += in[i];
    a = __reduce_add_sync(0xffffffff, a);
    if (threadIdx.x % 32 == 0) atomicAdd(c.map_shared_rank(&sum, 0), a);
    c.barrier_arrive();
    c.barrier_wait();
    if (c.thread_rank() == 0) out[pair] = sum;
}
