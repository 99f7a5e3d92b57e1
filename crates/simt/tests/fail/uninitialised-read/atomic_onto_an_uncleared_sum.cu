// An atomic addition reads what it adds to, and nobody has cleared it.
extern "C" __global__ void block_sum(const int *in, int *out)
{
    __shared__ int sum;
    atomicAdd(&sum, in[threadIdx.x]); //~ ERROR[uninitialised-read]
    __syncthreads();
    if (threadIdx.x == 0) {
        out[0] = sum;
    }
}
