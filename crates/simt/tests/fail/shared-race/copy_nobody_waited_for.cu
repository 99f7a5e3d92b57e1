// The barrier is there, but nobody has waited for the copy: it may still be under way when the neighbour's element is read.
#include <cuda_pipeline_primitives.h>

extern "C" __global__ void turn_round(const int *in, int *out)
{
    __shared__ int tile[128];
    unsigned t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], &in[t], 4);
    __pipeline_commit();
    __syncthreads();
    out[t] = tile[127 - t]; //~ ERROR[shared-race]
}
