// A block's sum that forgets the barrier inside the loop: warps read sums that other warps have not finished.
extern "C" __global__ void block_sum(const int *in, int *out)
{
    __shared__ int sums[128];
    unsigned t = threadIdx.x;
    sums[t] = in[t];
    __syncthreads();
    for (unsigned half = 64; half >= 32; half /= 2) {
        if (t < half) {
            sums[t] += sums[t + half]; //~ ERROR[shared-race]
        }
    }
    __syncthreads();
    if (t == 0) {
        out[0] = sums[0];
    }
}
