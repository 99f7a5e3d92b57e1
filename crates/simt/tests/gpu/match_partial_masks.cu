// Lanes that hold equal values find each other: 32 and 64 bits, whole warps and halves.
// simt: --kernel match_partial_masks --grid 1 --block 64 --arg in=u32[64]:hash8 --arg out=u32[320]:zero --print out
extern "C" __global__ void match_partial_masks(const unsigned* in, unsigned* out) {
    unsigned t = threadIdx.x, lane = t % 32;
    unsigned x = in[t] % 5;
    unsigned* mine = out + 5 * t;
    mine[0] = __match_any_sync(0xffffffff, x);
    mine[1] = __match_any_sync(0xffffffff, (unsigned long long)x << 40 | lane / 16);
    int same = -1;
    unsigned half = lane < 16 ? 0x0000ffff : 0xffff0000;
    mine[2] = __match_all_sync(half, t < 32 ? lane / 16 : lane, &same);
    mine[3] = same;
    unsigned some = __ballot_sync(0xffffffff, x != 0);
    if (x != 0) mine[4] = __match_any_sync(some, x * 0.5);
}
