// Bytes, shorts, booleans, doubles and 64-bit numbers as parameters and results.
// simt: --kernel narrow_parameters --grid 1 --block 96 --arg out=i64[96]:zero --arg reals=f64[96]:zero --print out --print reals
struct Small { signed char a; unsigned short b; bool c; };
struct Mixed { char tag; double value; short rest[3]; };
__device__ __noinline__ signed char negate(signed char x) { return (signed char)(-x - 1); }
__device__ __noinline__ unsigned short pack(unsigned char a, unsigned char b, bool swap) {
    return swap ? (unsigned short)(b << 8 | a) : (unsigned short)(a << 8 | b);
}
__device__ __noinline__ Small shrink(long long x, int y) {
    return Small{(signed char)(x * 7), (unsigned short)(y * 1000), (x & 2) != 0};
}
__device__ __noinline__ Mixed blend(Mixed m, Small s) {
    Mixed r = m;
    r.tag = (char)(m.tag + s.a);
    r.value = m.value * 0.5 + s.b * 3u;
    for (int k = 0; k < 3; ++k) r.rest[k] = (short)(m.rest[2 - k] - s.b);
    return r;
}

extern "C" __global__ void narrow_parameters(long long* out, double* reals) {
    int i = threadIdx.x;
    Small s = shrink(i * 3LL - 40, i - 30);
    Mixed m = {(char)i, i * 1.5, {(short)i, (short)(-i), (short)(i * 300)}};
    Mixed r = blend(m, s);
    out[i] = (long long)negate((signed char)(i * 5)) * 1000000007LL + pack((unsigned char)i, (unsigned char)(i * 9), s.c) + r.tag * 3 + r.rest[i % 3];
    reals[i] = r.value + i;
}
