// A generic atomic of which half of the lanes go to one word of shared memory, and half to words of global memory.
// simt: --kernel generic_atomics_apart --grid 1 --block 32 --arg zero=u32[32]:zero --arg data=u32[1024]:zero --arg out=u32[32]:zero --print out
extern "C" __global__ void generic_atomics_apart(const unsigned* zero, unsigned* data, unsigned* out) {
    __shared__ unsigned s[64];
    unsigned t = threadIdx.x, sum = 0;
    s[t] = t;
    s[t + 32] = t;
    __syncwarp();
    unsigned* there = t % 2 ? data + t + zero[t] : s + zero[t];
#pragma unroll 1
    for (int i = 0; i < 16; i++) {
        unsigned old;
        asm volatile("atom.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(there), "r"(t) : "memory");
        sum += old;
    }
    out[t] = sum != 0;
}
