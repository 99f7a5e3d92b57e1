// Additions of floats in shared memory, eight lanes to one word: loops of compare-and-swap, one lane of a word a round.
// simt: --kernel shared_float_rounds --grid 1 --block 32 --arg zero=u32[32]:zero --arg out=u32[32]:zero --print out
extern "C" __global__ void shared_float_rounds(const unsigned* zero, unsigned* out) {
    __shared__ float s[32];
    unsigned t = threadIdx.x;
    s[t] = 0;
    __syncwarp();
    unsigned place = (t < 8 ? 0 : t) + zero[t];
#pragma unroll 1
    for (int i = 0; i < 16; i++) {
        atomicAdd(s + place, (float)1.0f);
        __syncwarp();
    }
    out[t] = s[t];
}
