// CUDA's SIMD-in-a-word functions, of which some become video instructions, and scalar video instructions by hand.
// simt: --kernel simd_intrinsics --grid 2 --block 64 --arg in=u32[128]:rand(11) --arg out=u32[2048]:zero --print out
extern "C" __global__ void simd_intrinsics(const unsigned* in, unsigned* out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a = in[i], b = in[i ^ 9], c = in[i ^ 70], r[16];
    r[0] = __vabsdiffu4(a, b);
    r[1] = __vsadu4(a, b);
    r[2] = __vabsdiffs4(a, b) ^ __vsads4(b, c);
    r[3] = __vabsdiffu2(a, b) ^ __vsadu2(b, c);
    r[4] = __vadd4(a, b) ^ __vsub2(b, c);
    r[5] = __vaddss2(a, b) ^ __vsubus4(b, c);
    r[6] = __vavgs2(a, b) ^ __vavgu4(b, c);
    r[7] = __vmaxs4(a, b) ^ __vminu2(b, c);
    r[8] = __vcmpgts4(a, b) ^ __vsetltu2(b, c);
    asm("vadd2.s32.s32.s32.sat %0, %1.h32, %2.h10, %3;" : "=r"(r[9]) : "r"(a), "r"(b), "r"(c));
    asm("vmin4.u32.u32.u32 %0.b20, %1, %2, %3;" : "=r"(r[10]) : "r"(a), "r"(b), "r"(c));
    asm("vavrg4.u32.u32.u32.add %0, %1.b7531, %2, %3;" : "=r"(r[11]) : "r"(a), "r"(b), "r"(c));
    asm("vsub.s32.u32.s32.sat %0.h1, %1.b2, %2.h0, %3;" : "=r"(r[12]) : "r"(a), "r"(b), "r"(c));
    asm("vshl.u32.u32.u32.sat.wrap.max %0, %1.h1, %2.b3, %3;" : "=r"(r[13]) : "r"(a), "r"(b), "r"(c));
    asm("vmad.s32.s32.u32.sat.shr7 %0, %1.h0, %2.b1, %3;" : "=r"(r[14]) : "r"(a), "r"(b), "r"(c));
    asm("vset.s32.u32.lt.add %0, %1.h1, %2.h0, %3;" : "=r"(r[15]) : "r"(a), "r"(b), "r"(c));
    for (int k = 0; k < 16; k++) out[i * 16 + k] = r[k];
}
