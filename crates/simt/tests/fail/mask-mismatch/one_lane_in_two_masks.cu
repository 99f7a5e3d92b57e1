// The halves of the warp add up for themselves, and the lower one names a lane of the upper one.
extern "C" __global__ void halves(const int *in, int *out)
{
    unsigned t = threadIdx.x;
    unsigned mask = t < 16 ? 0x0001ffffu : 0xffff0000u;
    out[t] = __reduce_add_sync(mask, in[t]); //~ ERROR[mask-mismatch]
}
