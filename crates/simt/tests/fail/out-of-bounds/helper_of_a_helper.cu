// Each thread reads its element and the next one, in a function inside a function; both are inlined.
__device__ int element(const int *in, unsigned i)
{
    return in[i]; //~ ERROR[out-of-bounds]
}

__device__ int two(const int *in, unsigned i)
{
    return element(in, i)
        + element(in, i + 1);
}

extern "C" __global__ void pairs(const int *in, int *out)
{
    out[threadIdx.x] = two(in, threadIdx.x);
}
