// Threads without an element leave their place in shared memory as it was, and it is summed all the same.
extern "C" __global__ void block_sum(const int *in, int *out, unsigned n)
{
    __shared__ int sums[64];
    unsigned t = threadIdx.x;
    if (t < n) {
        sums[t] = in[t];
    }
    __syncthreads();
    if (t == 0) {
        int sum = 0;
#pragma unroll 1
        for (unsigned i = 0; i < 64; i++) {
            sum += sums[i]; //~ ERROR[uninitialised-read]
        }
        out[0] = sum;
    }
}
