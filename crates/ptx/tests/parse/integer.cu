// Integer arithmetic, bits, bytes, wide products and carries.
typedef unsigned long long u64;
extern "C" __global__ void integer_ops(const unsigned* a, const u64* w, unsigned* out, u64* wide) {
    unsigned x = a[threadIdx.x], y = a[threadIdx.x + 1], z = a[threadIdx.x + 2];
    int s = (int)x, t = (int)y;
    unsigned r = __popc(x) + __clz(y) + __brev(z) + __ffs(s) + __byte_perm(x, y, z) + __umulhi(x, y) + __mulhi(s, t);
    r += __usad(x, y, z) + __sad(s, t, z) + __umul24(x, y) + __mul24(s, t) + __dp4a(x, y, z) + __dp2a_lo(s, t, (int)z);
    r += __funnelshift_l(x, y, z) + __funnelshift_rc(x, y, z) + (x & ~y ^ z) + __vadd4(x, y) + __vabsdiffu4(x, y) + __vcmpgtu2(x, z);
    r += s / t + s % t + x / y + x % y + (s >> 3) + (x << z) + abs(s) + min(s, t) + max(x, y) + x * 3 + s / 10;
    unsigned field;
    asm("bfe.u32 %0, %1, 4, 8;" : "=r"(field) : "r"(x));
    asm("{ .reg .u32 t; bfi.b32 t, %1, %2, 8, 8; bfind.u32 %0, t; }" : "=r"(z) : "r"(field), "r"(y));
    asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "+r"(r) : "r"(x), "r"(y), "r"(z));
    out[threadIdx.x] = r ^ field;
    u64 p = w[threadIdx.x], q = w[threadIdx.x + 1];
    unsigned __int128 big = (unsigned __int128)p * q + p;
    wide[threadIdx.x] = (u64)(big >> 64) + __umul64hi(p, q) + __popcll(p) + __clzll(q) + __brevll(p) + p / q + p % q + (p >> 7);
    asm("{ add.cc.u64 %0, %1, %2; addc.u64 %0, %0, 0; }" : "=l"(wide[64]) : "l"(p), "l"(q));
    asm("mad.lo.cc.u32 %0, %1, %2, %0; madc.hi.u32 %0, %1, %2, 0; sub.cc.u32 %0, %0, 1; subc.u32 %0, %0, 0;" : "+r"(out[64]) : "r"(x), "r"(y));
    ((unsigned char*)out)[512 + threadIdx.x] = (unsigned char)(x + 7);
    ((short*)out)[512 + threadIdx.x] = (short)((signed char)x * (short)y);
}
