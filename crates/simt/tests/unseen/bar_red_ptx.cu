// bar.red by inline PTX: popc over part of the block, and / or with a named barrier
// simt: --kernel bar_red_ptx --grid 2 --block 192 --arg in=i32[384]:rand(68) --arg out=i32[384]:zero --print out
extern "C" __global__ void bar_red_ptx(const int *in, int *out)
{
    int i = blockIdx.x * 192 + threadIdx.x, v = in[i], r;
    if (threadIdx.x < 64) {
        asm volatile("{.reg .pred p; setp.gt.s32 p, %1, 0; bar.red.popc.u32 %0, 2, 64, p;}" : "=r"(r) : "r"(v) : "memory");
    } else {
        asm volatile("{.reg .pred p, q, o; setp.gt.s32 p, %1, -2000000000; barrier.cta.red.and.aligned.pred q, 1, 128, p; setp.gt.s32 p, %1, 2100000000; bar.red.or.pred o, 4, 128, p; selp.s32 %0, 10, 20, q; @o add.s32 %0, %0, 1;}" : "=r"(r) : "r"(v) : "memory");
    }
    out[i] = r + __syncthreads_count(v < 0) * 1000;
}
