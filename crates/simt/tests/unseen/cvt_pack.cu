// saturating pack of ints to bytes, then a sum by dp4a (quantisation)
// simt: --kernel cvt_pack --grid 1 --block 64 --arg in=i32[256]:rand(80) --arg out=i32[64]:zero --arg total=i32[1]:zero --print out --print total
extern "C" __global__ void cvt_pack(const int4 *in, int *out, int *total)
{
    int4 v = in[threadIdx.x]; unsigned r;
    asm("{.reg .u32 lo; cvt.pack.sat.s8.s32.b32 lo, %1, %2, 0; cvt.pack.sat.s8.s32.b32 %0, %3, %4, lo;}" : "=r"(r) : "r"(v.w >> 23), "r"(v.z >> 23), "r"(v.y >> 24), "r"(v.x >> 23));
    out[threadIdx.x] = r;
    int s = __reduce_add_sync(~0u, __dp4a((int)r, 0x01010101, 0));
    if (threadIdx.x % 32 == 0) atomicAdd(total, s);
}
