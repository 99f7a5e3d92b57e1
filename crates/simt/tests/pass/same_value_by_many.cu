// Whoever finds a number above the limit says so: all of them write the same, in one warp, in several, in several blocks.
extern "C" __global__ void any_above(const int *in, int limit, int *out)
{
    __shared__ int found;
    unsigned t = threadIdx.x;
    if (t == 0) found = 0;
    __syncthreads();
    if (in[blockIdx.x * blockDim.x + t] > limit) found = 1; //~ NOTE[equal-writes]
    __syncthreads();
    if (found) *out = 1; //~ NOTE[equal-writes]
}
