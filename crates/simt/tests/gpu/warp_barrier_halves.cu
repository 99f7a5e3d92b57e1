// The halves of a warp pass values on through shared memory, each behind barriers of its own.
// simt: --kernel warp_barrier_halves --grid 2 --block 64 --arg out=u32[128]:zero --print out
extern "C" __global__ void warp_barrier_halves(unsigned* out) {
    __shared__ unsigned s[64];
    unsigned t = threadIdx.x, half = t % 32 / 16, at = t & ~15u;
    unsigned mask = 0xffffu << (16 * half);
    s[t] = t * t + blockIdx.x;
    unsigned sum = 0;
    for (unsigned round = 0; round < 4 + half; round++) {
        __syncwarp(mask);
        unsigned next = s[at + (t + 1) % 16];
        __syncwarp(mask);
        s[t] = next + round;
        sum += next;
    }
    out[blockIdx.x * blockDim.x + t] = sum;
}
