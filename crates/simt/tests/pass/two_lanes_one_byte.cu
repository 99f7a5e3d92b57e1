// Two neighbours store different numbers to one byte, which keeps the same of both.
extern "C" __global__ void halves(unsigned char *out, int step)
{
    unsigned t = threadIdx.x;
    out[t / 2] = step * t + 7;
}
