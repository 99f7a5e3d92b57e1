// Halves and brain floats, one and two at a time: a dot product, comparisons, extremes, conversions.
// simt: --kernel half_precision --grid 1 --block 64 --arg in=f32[128]:rand(21) --arg out=u32[512]:zero --print out
extern "C" __global__ void half_precision(const float* in, unsigned* out) {
    unsigned i = threadIdx.x;
    unsigned h, g, acc = 0, r;
    unsigned short one, two, three;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(h) : "f"(in[i]), "f"(in[i + 64]));
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(g) : "f"(in[i] * 300), "f"(in[127 - i]));
    for (int k = 0; k < 5; k++) asm("fma.rn.f16x2 %0, %1, %1, %0;" : "+r"(acc) : "r"(h));
    out[i * 8] = acc;
    asm("fma.rn.bf16x2 %0, %1, %1, %1;" : "=r"(r) : "r"(g));
    out[i * 8 + 1] = r;
    asm("cvt.rz.f16.f32 %0, %1;" : "=h"(one) : "f"(in[i] * 1e-4f));
    asm("cvt.rn.sat.f16.f32 %0, %1;" : "=h"(two) : "f"(in[i] * 2));
    asm("mul.rn.f16 %0, %1, %2;" : "=h"(three) : "h"(one), "h"(two));
    out[i * 8 + 2] = one | two << 16;
    out[i * 8 + 3] = three;
    asm("{ .reg .pred p; .reg .f16 a, b; mov.b32 {a, b}, %1; setp.lt.f16 p, a, b; selp.u32 %0, 1, 0, p; }" : "=r"(r) : "r"(h));
    out[i * 8 + 4] = r;
    asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(r) : "r"(h), "r"(acc));
    out[i * 8 + 5] = r;
    asm("{ .reg .f16 a, b; mov.b32 {a, b}, %1; cvt.rzi.s32.f16 %0, b; }" : "=r"(r) : "r"(acc));
    out[i * 8 + 6] = r;
    asm("add.rn.ftz.f16x2 %0, %1, %2;" : "=r"(r) : "r"(h), "r"(acc));
    out[i * 8 + 7] = r;
}
