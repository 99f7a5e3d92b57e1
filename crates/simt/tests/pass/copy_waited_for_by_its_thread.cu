// A thread that has waited for its own copy may read it without a barrier, and overwrite it; so may others behind a barrier.
#include <cuda_pipeline_primitives.h>

extern "C" __global__ void own(const int *in, int *out)
{
    __shared__ int tile[64];
    unsigned t = threadIdx.x;
    for (int k = 0; k < 3; k++) {
        __pipeline_memcpy_async(&tile[t], &in[64 * k + t], 4);
        __pipeline_commit();
        __pipeline_wait_prior(0);
        int mine = tile[t];
        tile[t] = mine + k;
        __syncthreads();
        out[64 * k + t] = tile[63 - t];
        __syncthreads();
    }
}
