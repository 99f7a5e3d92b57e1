// Two copies are under way and the wait lets the last one be: it is the one that is read.
#include <cuda_pipeline_primitives.h>

extern "C" __global__ void two_tiles(const int *in, int *out)
{
    __shared__ int tiles[2][64];
    unsigned t = threadIdx.x;
    for (int k = 0; k < 2; k++) {
        __pipeline_memcpy_async(&tiles[k][t], &in[64 * k + t], 4);
        __pipeline_commit();
    }
    __pipeline_wait_prior(1);
    out[t] = tiles[0][t];
    out[64 + t] = tiles[1][t]; //~ ERROR[shared-race]
    __pipeline_wait_prior(0);
}
