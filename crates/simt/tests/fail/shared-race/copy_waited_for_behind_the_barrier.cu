// Each thread waits for its own copy, but only behind the barrier: of the others' copies it knows nothing.
#include <cuda_pipeline_primitives.h>

extern "C" __global__ void turn_round(const int *in, int *out)
{
    __shared__ int tile[128];
    unsigned t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], &in[t], 4);
    __pipeline_commit();
    __syncthreads();
    __pipeline_wait_prior(0);
    out[t] = tile[127 - t]; //~ ERROR[shared-race]
}
