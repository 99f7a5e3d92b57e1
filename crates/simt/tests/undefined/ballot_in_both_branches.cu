// Even and odd lanes each vote in their branch, with the mask of all 32.
// simt: --kernel ballot_in_both_branches --grid 2 --block 32 --arg in=u32[64]:hash8 --arg out=u32[64]:zero --print out
extern "C" __global__ void ballot_in_both_branches(const unsigned* in, unsigned* out) {
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    unsigned v = in[i];
    if (t & 1) {
        v = __ballot_sync(0xffffffffu, v & 1);
        out[i] = v;
    } else {
        v = __ballot_sync(0xffffffffu, v & 2);
        out[i] = v ^ 0x80000000u;
    }
}
