// Votes of whole warps and of the lanes on each side of a branch.
// simt: --kernel vote_partial_masks --grid 2 --block 80 --arg in=u32[160]:hash8 --arg out=u32[960]:zero --print out
extern "C" __global__ void vote_partial_masks(const unsigned* in, unsigned* out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    unsigned warp = threadIdx.x < 64 ? 0xffffffff : 0x0000ffff;
    unsigned x = in[i];
    unsigned* mine = out + 6 * i;
    mine[0] = __ballot_sync(warp, x & 1);
    mine[1] = __any_sync(warp, x > 250) * 2 + __all_sync(warp, x < 255);
    unsigned low = __ballot_sync(warp, x < 100);
    if (x < 100) {
        mine[2] = __ballot_sync(low, x % 3 == 0);
        mine[3] = __all_sync(low, x < 90);
    } else {
        mine[2] = __ballot_sync(warp & ~low, x % 3 == 1);
        mine[3] = __any_sync(warp & ~low, x == 200) + 10;
    }
    unsigned same;
    asm volatile("{ .reg .pred p, q; setp.gt.u32 p, %1, 128; vote.sync.uni.pred q, !p, %2; selp.u32 %0, 1, 2, q; }"
                 : "=r"(same) : "r"(x), "r"(warp));
    mine[4] = same;
    mine[5] = __activemask() & (1u << lane);
}
