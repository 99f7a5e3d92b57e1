// Each lane adds 1 to a word of shared memory, two to a word and two words to a bank, and nobody looks at what was there.
// simt: --kernel lanes_counted --grid 1 --block 32 --arg zero=u32[32]:zero --arg out=u32[32]:zero --print out
extern "C" __global__ void lanes_counted(const unsigned* zero, unsigned* out) {
    __shared__ unsigned s[64];
    unsigned t = threadIdx.x, sum = 0;
    s[t] = 0;
    s[t + 32] = 0;
    __syncwarp();
    unsigned place = (t * 32 % 64 + t / 4) + zero[t];
#pragma unroll 1
    for (int i = 0; i < 16; i++) {
        atomicAdd(s + place, 1u);
        __syncwarp();
    }
    out[t] = s[t] + (sum > 1000000);
}
