// A partial warp adds up under a mask of the lanes that are there, and throws away what comes from beyond.
extern "C" __global__ void partial(const int* in, int* out, unsigned n)
{
    unsigned t = threadIdx.x;
    unsigned mask = __ballot_sync(0xffffffff, t < n);
    if (t < n) {
        int v = in[t];
        for (unsigned d = 16; d > 0; d /= 2) {
            int other = __shfl_down_sync(mask, v, d);
            if (t + d < n) v += other;
        }
        if (t == 0) out[0] = v;
    }
}
