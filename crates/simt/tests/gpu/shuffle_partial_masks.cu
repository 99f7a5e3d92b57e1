// Every shuffle in whole warps, in segments of a warp, and among some of its lanes only.
// simt: --kernel shuffle_partial_masks --grid 2 --block 96 --arg in=u32[192]:hash8 --arg out=u32[1536]:zero --print out
extern "C" __global__ void shuffle_partial_masks(const unsigned* in, unsigned* out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    unsigned x = in[i] * 1000 + i;
    unsigned* mine = out + 8 * i;
    mine[0] = __shfl_up_sync(0xffffffff, x, 5);
    mine[1] = __shfl_down_sync(0xffffffff, x, 3, 16);
    mine[2] = __shfl_xor_sync(0xffffffff, x, 6, 8);
    mine[3] = __shfl_sync(0xffffffff, x, lane * 7 + 1, 4);
    if (lane < 20) {
        mine[4] = __shfl_sync(0x000fffff, x, lane * 3 % 20);
        mine[5] = lane < 16 ? __shfl_xor_sync(0x0000ffff, x, 9, 16) : 7;
    } else {
        mine[6] = __shfl_up_sync(0xfff00000, x, lane == 20 ? 0 : 1);
    }
    unsigned odd;
    asm volatile("{ .reg .pred p; .reg .b32 v; shfl.sync.down.b32 v|p, %1, 9, 0x1f, 0xffffffff; selp.u32 %0, v, 99, p; }"
                 : "=r"(odd) : "r"(x));
    mine[7] = odd;
}
