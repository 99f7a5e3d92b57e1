// Which way the carry flag stands when sub.cc is read by addc and add.cc by subc (nvcc's own 128-bit division does this)
// simt: --kernel carry_mix --grid 1 --block 64 --arg a=u32[64]:rand(71) --arg b=u32[64]:rand(72) --arg o=u32[256]:zero --arg o64=u64[128]:zero --print o --print o64
extern "C" __global__ void carry_mix(const unsigned *a, const unsigned *b, unsigned *o, unsigned long long *o64)
{
    unsigned t = threadIdx.x, x = a[t], y = b[t], r, q;
    asm volatile("sub.cc.u32 %1, %2, %3;\n\taddc.u32 %0, 0, 0;" : "=r"(r), "=r"(q) : "r"(x), "r"(y)); o[t] = r;
    asm volatile("add.cc.u32 %1, %2, %3;\n\tsubc.u32 %0, 0, 0;" : "=r"(r), "=r"(q) : "r"(x), "r"(y)); o[64 + t] = r;
    asm volatile("sub.cc.u32 %1, %2, %3;\n\tsubc.u32 %0, 0, 0;" : "=r"(r), "=r"(q) : "r"(x), "r"(y)); o[128 + t] = r;
    asm volatile("add.cc.u32 %1, %2, %3;\n\taddc.u32 %0, 0, 0;" : "=r"(r), "=r"(q) : "r"(x), "r"(y)); o[192 + t] = r;
    unsigned long long w = (unsigned long long)x << 32 | y, v = (unsigned long long)y << 32 | x, s, p;
    asm volatile("sub.cc.u64 %1, %2, %3;\n\taddc.u64 %0, 0, 0;" : "=l"(s), "=l"(p) : "l"(w), "l"(v)); o64[t] = s;
    asm volatile("add.cc.u64 %1, %2, %3;\n\tsubc.u64 %0, 0, 0;" : "=l"(s), "=l"(p) : "l"(w), "l"(v)); o64[64 + t] = s;
}
