// Lanes recurse to different depths; behind the call they shuffle and vote with one full mask.
// simt: --kernel together_after_calls --grid 1 --block 64 --arg out=u32[64]:zero --arg votes=u32[64]:zero --print out --print votes
__device__ __noinline__ unsigned climb(unsigned n, unsigned x) { return n == 0 ? x : climb(n - 1, x * 3 + n) + 1; }

extern "C" __global__ void together_after_calls(unsigned* out, unsigned* votes) {
    unsigned i = threadIdx.x, lane = i % 32;
    unsigned value = lane < 20 ? climb(lane % 7, i) : i;
    unsigned other = __shfl_xor_sync(0xffffffffu, value, 5);
    unsigned mask = __ballot_sync(0xffffffffu, other > value);
    if (lane % 2) value += climb(lane % 4, other);
    __syncwarp();
    out[i] = value + __shfl_sync(0xffffffffu, value, (lane + 1) % 32);
    votes[i] = mask;
}
