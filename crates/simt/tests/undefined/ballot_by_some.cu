// Ten lanes vote with the mask of all 32. The others skip it, do a little, and exit.
// simt: --kernel ballot_by_some --grid 2 --block 32 --arg in=u32[64]:hash8 --arg out=u32[64]:zero --print out
extern "C" __global__ void ballot_by_some(const unsigned* in, unsigned* out) {
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    unsigned v = in[i];
    if (t < 10) v = __ballot_sync(0xffffffffu, v & 1);
    out[i] = v;
}
