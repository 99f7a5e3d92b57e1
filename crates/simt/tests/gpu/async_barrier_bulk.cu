// A block's copies counted by a cuda::barrier: of sizes that sm_90 has copied in bulk, and of one that it has not.
// simt: --kernel async_barrier_bulk --grid 2 --block 64 --arg in=u32[4096]:hash8 --arg out=u32[1024]:zero --arg rounds=u32:8 --print out
#include <cooperative_groups.h>
#include <cuda/barrier>
namespace cg = cooperative_groups;

extern "C" __global__ void async_barrier_bulk(const unsigned* in, unsigned* out, unsigned rounds) {
    __shared__ alignas(16) unsigned wide[256];
    __shared__ alignas(16) unsigned one[64];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::barrier<cuda::thread_scope_block> full;
    auto block = cg::this_thread_block();
    unsigned t = threadIdx.x;
    if (t == 0) {
        init(&full, blockDim.x);
    }
    block.sync();
    in += blockIdx.x * 2048;
    out += blockIdx.x * 512;
    for (unsigned k = 0; k < rounds; k++) {
        cuda::memcpy_async(block, wide, in + k * 256, cuda::aligned_size_t<16>(sizeof(wide)), full);
        cuda::memcpy_async(block, one, in + k * 100 + 1, sizeof(one), full);
        full.arrive_and_wait();
        out[k * 64 + t] = wide[4 * (63 - t) + k % 4] * 3 + one[(t * 5 + 3) % 64];
        full.arrive_and_wait();
    }
}
