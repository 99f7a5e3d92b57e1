#include <cstdio>

// Every thread works out its own number, and says so.
// ANCHOR: kernel
__global__ void hello()
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    printf("block %d, thread %d: number %d\n", blockIdx.x, threadIdx.x, i);
}
// ANCHOR_END: kernel
