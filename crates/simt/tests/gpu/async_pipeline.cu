// A pipeline of the whole block, with barrier objects for what is filled and for what is free (cuda::pipeline).
// simt: --kernel async_pipeline --grid 2 --block 64 --arg in=u32[1024]:hash8 --arg out=u32[1024]:zero --arg tiles=u32:8 --print out
#include <cooperative_groups.h>
#include <cuda/pipeline>
namespace cg = cooperative_groups;

extern "C" __global__ void async_pipeline(const unsigned* in, unsigned* out, unsigned tiles) {
    __shared__ unsigned stage[3][64];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 3> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    unsigned t = threadIdx.x;
    in += blockIdx.x * tiles * 64;
    out += blockIdx.x * tiles * 64;
    for (unsigned tile = 0, ahead = 0; tile < tiles; tile++) {
        for (; ahead < tiles && ahead < tile + 3; ahead++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, stage[ahead % 3], in + ahead * 64, sizeof(stage[0]), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        out[tile * 64 + t] = stage[tile % 3][(t * 5 + 7) % 64] + tile * 1000;
        pipe.consumer_release();
    }
}
