#include <cstdio>
#include <cuda_runtime.h>

// ANCHOR: kernel
__device__ int twice_of(int x)
{
    return 2 * x;
}

extern "C" __global__ void twice(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = twice_of(in[i]);
}
// ANCHOR_END: kernel

#ifndef __CUDACC_RTC__
// ANCHOR: host
int main()
{
    const int n = 1000;
    int numbers[n];
    for (int i = 0; i < n; i++)
        numbers[i] = i;

    int *in, *out;
    cudaMalloc(&in, n * sizeof(int));
    cudaMalloc(&out, n * sizeof(int));
    cudaMemcpy(in, numbers, n * sizeof(int), cudaMemcpyHostToDevice);

    int block = 256;
    int grid = (n + block - 1) / block;
    twice<<<grid, block>>>(in, out, n);

    cudaMemcpy(numbers, out, n * sizeof(int), cudaMemcpyDeviceToHost);
    printf("%d %d ... %d (%s)\n", numbers[0], numbers[1], numbers[n - 1], cudaGetErrorString(cudaGetLastError()));
    cudaFree(in);
    cudaFree(out);
}
// ANCHOR_END: host
#endif
