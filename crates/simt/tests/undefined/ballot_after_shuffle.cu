// The lower half shuffles with the mask of all 32 while the upper half comes to a vote with the same mask.
// simt: --kernel ballot_after_shuffle --grid 2 --block 32 --arg in=u32[64]:hash8 --arg out=u32[64]:zero --print out
extern "C" __global__ void ballot_after_shuffle(const unsigned* in, unsigned* out) {
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    unsigned v = in[i];
    if (t < 16) {
        v = __shfl_xor_sync(0xffffffffu, v, 1);
        out[i] = v;
    } else {
        v = __ballot_sync(0xffffffffu, v & 1);
        out[i] = v + 5;
    }
}
