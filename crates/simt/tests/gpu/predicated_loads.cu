// Loads and stores that are off in some lanes, in all lanes of some warps, and in all warps: what of that is counted.
// simt: --kernel predicated_loads --grid 1 --block 128 --arg in=u32[256]:iota --arg out=u32[256]:zero --print out
extern "C" __global__ void predicated_loads(const unsigned* in, unsigned* out) {
    unsigned t = threadIdx.x, v = t;
    asm volatile("{ .reg .pred p; setp.lt.u32 p, %1, 40; @p ld.volatile.global.u32 %0, [%2]; }" : "+r"(v) : "r"(t), "l"(in + 128 + t));
    asm volatile("{ .reg .pred p; setp.gt.u32 p, %1, 2000; @p ld.volatile.global.u32 %0, [%2]; }" : "+r"(v) : "r"(t), "l"(in + t));
    asm volatile("{ .reg .pred p; setp.lt.u32 p, %1, 72; @p st.volatile.global.u32 [%2], %0; }" :: "r"(v), "r"(t), "l"(out + t));
    asm volatile("{ .reg .pred p; setp.gt.u32 p, %1, 2000; @p st.volatile.global.u32 [%2], %0; }" :: "r"(v), "r"(t), "l"(out + t));
    asm volatile("{ .reg .pred p; setp.lt.u32 p, %1, 40; @p red.global.add.u32 [%2], %0; }" :: "r"(v), "r"(t), "l"(out + 128 + t / 2));
}
