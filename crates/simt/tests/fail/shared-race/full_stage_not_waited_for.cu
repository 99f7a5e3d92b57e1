// A barrier object says when the copies are there, and half of the threads do not ask it.
#include <cuda_pipeline_primitives.h>
#include <cuda_awbarrier_primitives.h>

extern "C" __global__ void stage(const int *in, int *out)
{
    __shared__ int tile[64];
    __shared__ __mbarrier_t full;
    unsigned t = threadIdx.x;
    if (t == 0) {
        __mbarrier_init(&full, 64);
    }
    __syncthreads();
    __pipeline_memcpy_async(&tile[t], &in[t], 4);
    __pipeline_arrive_on(&full);
    __mbarrier_token_t token = __mbarrier_arrive(&full);
    if (t < 32) {
        while (!__mbarrier_test_wait(&full, token)) {
        }
    }
    out[t] = tile[63 - t]; //~ ERROR[shared-race]
}
