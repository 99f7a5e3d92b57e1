// Products and sums that ptxas makes one instruction of, and those that it must not: differences, products of several sums, sums of
// two products, negations, halves, and the intrinsics that ask for two roundings.
// simt: --kernel contracted --grid 1 --block 32 --arg a=f32[96]:rand(5) --arg b=f64[96]:rand(6) --arg f=f32[320]:zero --arg d=f64[192]:zero --arg h=u32[96]:zero --print f --print d --print h
#include <cuda_fp16.h>

__device__ unsigned bits(__half2 x) { return *reinterpret_cast<unsigned*>(&x); }

extern "C" __global__ void contracted(const float* a, const double* b, float* f, double* d, unsigned* h) {
    unsigned t = threadIdx.x;
    float x = a[t], y = a[32 + t], z = a[64 + t], product;
    asm("mul.f32 %0, %1, %2;" : "=f"(product) : "f"(x), "f"(y));
    f[t] = z - product;
    f[32 + t] = product + y;
    f[64 + t] = x * y - y * z;
    f[96 + t] = __fadd_rn(__fmul_rn(x, z), y);
    float square;
    asm("mul.f32 %0, %1, %1;" : "=f"(square) : "f"(z));
    float sum;
    asm("add.f32 %0, %1, %2;" : "=f"(sum) : "f"(square), "f"(x));
    f[128 + t] = sum;
    f[160 + t] = square;
    float negative, other;
    asm("{ .reg .f32 p, q; mul.f32 p, %1, %2; neg.f32 q, p; add.f32 %0, q, %3; }" : "=f"(negative) : "f"(x), "f"(z), "f"(y));
    asm("{ .reg .f32 p, q; mul.f32 p, %1, %2; mul.f32 q, %2, %3; sub.f32 %0, q, p; }" : "=f"(other) : "f"(x), "f"(y), "f"(z));
    f[192 + t] = negative;
    f[224 + t] = other;
    float several = x * 1.1f;
    f[256 + t] = several - y;
    f[288 + t] = (t & 1 ? several : z) + y;
    double u = b[t], v = b[32 + t], w = b[64 + t];
    d[t] = w - u * v;
    d[32 + t] = u * v - v * w;
    double p, q, r;
    asm("mul.f64 %0, %1, %2;" : "=d"(p) : "d"(u), "d"(w));
    asm("sub.f64 %0, %1, %2;" : "=d"(q) : "d"(p), "d"(v));
    asm("sub.f64 %0, %1, %2;" : "=d"(r) : "d"(v), "d"(p));
    d[64 + t] = q;
    d[96 + t] = r;
    d[128 + t] = __dadd_rn(__dmul_rn(u, v), w);
    d[160 + t] = u / (v * v + 3.0) - w;
    __half2 k = __floats2half2_rn(x, y), l = __floats2half2_rn(y, z), m = __floats2half2_rn(z, x);
    h[t] = bits(__hadd2(__hmul2(k, l), m));
    h[32 + t] = bits(__hsub2(m, __hmul2(k, l)));
    h[64 + t] = bits(__hadd2(__hmul2_rn(k, l), m));
}
