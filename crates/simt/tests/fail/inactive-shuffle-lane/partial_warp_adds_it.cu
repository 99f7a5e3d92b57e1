// A partial warp adds up under a mask of the lanes that are there, and adds what comes from beyond: lane 4 gets it, and hands it on.
extern "C" __global__ void partial(const int* in, int* out, unsigned n)
{
    unsigned t = threadIdx.x;
    unsigned mask = __ballot_sync(0xffffffff, t < n);
    if (t < n) {
        int v = in[t];
#pragma unroll 1
        for (unsigned d = 16; d > 0; d /= 2)
            v += __shfl_down_sync(mask, v, d); //~ ERROR[inactive-shuffle-lane]
        if (t == 0) out[0] = v;
    }
}
