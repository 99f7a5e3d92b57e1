// Additions of 64 bits in shared memory, two lanes to a word, one in each half of the warp: two rounds each.
// simt: --kernel shared_wide_rounds --grid 1 --block 32 --arg zero=u32[32]:zero --arg out=u64[32]:zero --print out
extern "C" __global__ void shared_wide_rounds(const unsigned* zero, unsigned long long* out) {
    __shared__ unsigned long long s[32];
    unsigned t = threadIdx.x;
    s[t] = 0;
    __syncwarp();
    unsigned place = (t % 16) + zero[t];
#pragma unroll 1
    for (int i = 0; i < 16; i++) {
        atomicAdd(s + place, (unsigned long long)t);
        __syncwarp();
    }
    out[t] = s[t];
}
