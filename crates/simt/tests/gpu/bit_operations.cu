// Permuted bytes, fields of bits, leading zeros, funnel shifts, sums of absolute differences and dot products of bytes.
// simt: --kernel bit_operations --grid 2 --block 64 --arg in=u32[128]:rand(9) --arg out=u32[2048]:zero --print out
extern "C" __global__ void bit_operations(const unsigned* in, unsigned* out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a = in[i], b = in[i ^ 5], c = in[i ^ 64], r[16], t;
    r[0] = __byte_perm(a, b, c & 0x7777);
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r[1]) : "r"(a), "r"(b), "r"(c));
    asm("bfe.s32 %0, %1, %2, %3;" : "=r"(r[2]) : "r"(a), "r"(b & 31), "r"(c & 31));
    asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(r[3]) : "r"(a), "r"(b), "r"(c & 31), "r"((c >> 8) & 31));
    r[4] = __clz(a >> (c & 31)) * 100 + __ffs(a);
    r[5] = __funnelshift_l(a, b, c);
    r[6] = __funnelshift_rc(a, b, c >> 7);
    r[7] = __sad((int)a, (int)b, c);
    asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(r[8]) : "r"(a), "r"(b), "r"(c));
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(r[9]) : "r"(a), "r"(b), "r"(c));
    asm("dp2a.lo.s32.s32 %0, %1, %2, %3; dp2a.hi.u32.u32 %0, %1, %2, %0;" : "=&r"(r[10]) : "r"(a), "r"(b), "r"(c));
    r[11] = __brev(a) + __popc(b);
    r[12] = __mulhi((int)a, (int)b) ^ __umulhi(a, c);
    r[13] = __uhadd(a, b) ^ __rhadd((int)b, (int)c);
    asm("bfind.u32 %0, %1; bfind.shiftamt.s32 %2, %3;" : "=r"(r[14]), "+r"(a), "=r"(t) : "r"(b));
    asm("lop3.b32 %0, %1, %2, %3, 0xca;" : "=r"(r[15]) : "r"(a), "r"(b), "r"(t));
    for (int k = 0; k < 16; k++) out[i * 16 + k] = r[k];
}
