// Single and double precision: rounding modes, approximations, conversions, comparisons with NaN.
extern "C" __global__ void float_ops(const float* a, float* out, double* wide, int* ints) {
    float x = a[threadIdx.x], y = a[threadIdx.x + 1], z = a[threadIdx.x + 2];
    float r = __fadd_rz(x, y) + __fmul_ru(x, y) + __fmaf_rd(x, y, z) + __fdiv_rn(x, y) + __fdividef(x, y) + __frcp_rz(x) + __fsqrt_rn(y);
    r += __sinf(x) + __cosf(y) + __expf(z) + __log2f(x) + rsqrtf(y) + tanhf(z) + sinf(x) + powf(x, y) + exp2f(x);
    r += fminf(x, y) + fmaxf(y, z) + fabsf(x) + copysignf(x, y) + floorf(x) + ceilf(y) + rintf(z) + truncf(x) + fmodf(x, y);
    asm("tanh.approx.f32 %0, %1;" : "=f"(r) : "f"(r));
    if (isnan(r) || isinf(x) || !(x < y)) r = __saturatef(z) + 1.5f;
    out[threadIdx.x] = x == y ? r : __int_as_float(__float_as_int(r) ^ 0x80000000);
    double d = x, e = wide[threadIdx.x];
    wide[threadIdx.x] = __dadd_ru(d, e) + fma(d, e, 0.1) + d / e + sqrt(e) + __drcp_rn(d) + rsqrt(e) + fmin(d, e) + floor(e) + exp(d);
    ints[threadIdx.x] = (int)x + (unsigned)y + __float2int_rn(z) + __double2int_rz(d) + (int)(long long)e + (short)x + (int)(unsigned char)y;
    out[64] = (float)ints[0] + (float)(unsigned)ints[1] + (float)e + (float)(long long)ints[2] + __ull2float_rz(ints[3]);
}
