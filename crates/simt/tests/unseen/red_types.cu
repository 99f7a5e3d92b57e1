// red and atom of many types: f16x2, bf16x2 noftz, f64, s64 min, u64 and/or/xor, exch, inc, dec, vectors of f32; exact values
// simt: --kernel red_types --grid 2 --block 64 --arg h=f16[2]:zero --arg d=f64[1]:zero --arg m=i64[2]:zero --arg x=u64[3]:const(255) --arg w=u32[3]:zero --arg v=f32[4]:zero --print h --print d --print m --print x --print w --print v
extern "C" __global__ void red_types(unsigned *h, double *d, long long *m, unsigned long long *x, unsigned *w, float *v)
{
    int t = blockIdx.x * 64 + threadIdx.x;
    asm volatile("red.global.add.noftz.f16x2 [%0], %1;" ::"l"(h), "r"(t % 2 ? 0x3c004000u : 0xbc003c00u) : "memory");
    atomicAdd(d, (double)t * 0.5);
    atomicMin(m, (long long)-t * 10000000000ll); atomicMax(m + 1, (long long)t * 30000000000ll);
    atomicAnd(x, ~(1ull << (t % 5))); atomicOr(x + 1, 1ull << (t % 60)); atomicXor(x + 2, 1ull << (t % 48));
    atomicInc(w, 49); atomicDec(w + 1, 20); atomicSub(w + 2, 3u);
    asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(v), "f"(1.f), "f"((float)t), "f"(-1.f), "f"(t * 0.25f) : "memory");
}
