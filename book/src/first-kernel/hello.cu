#include <cstdio>

// Every thread works out its own number; the first of every eight says so.
__global__ void hello()
{
    const int n = 40;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    if (i % 8 == 0)
        printf("block %d, thread %2d: number %d\n", blockIdx.x, threadIdx.x, i);
}
