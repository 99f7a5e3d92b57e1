// Sixteen-bit floats: header functions are inline assembly with scopes and registers of their own.
#include <cuda_fp16.h>
#include <cuda_bf16.h>

extern "C" __global__ void half_ops(const __half2* a, __half2* out, float f, double d, int i) {
    __half2 x = a[threadIdx.x], y = a[threadIdx.x + 32];
    __half2 sum = __hadd2(__hmul2(x, y), __hfma2(x, y, __float2half2_rn(f)));
    sum = __hmin2(sum, __hmax2(x, __hneg2(y)));
    __half low = __low2half(sum);
    if (__hgt(low, __int2half_rn(i)) && !__hisnan(low)) low = h2exp2(sum).x;
    out[threadIdx.x] = __halves2half2(low, __float2half(__half2float(hsqrt(__double2half(d)))));
    atomicAdd(&out[64], sum);
}

extern "C" __global__ void bfloat_ops(const __nv_bfloat162* a, __nv_bfloat162* out, float f) {
    __nv_bfloat162 x = a[threadIdx.x], y = a[threadIdx.x + 32];
    __nv_bfloat162 z = __hfma2(x, y, __floats2bfloat162_rn(f, -f));
    z = __hmax2(z, __hsub2(x, y));
    out[threadIdx.x] = __hlt(z.x, y.x) ? z : __float2bfloat162_rn(__bfloat162float(z.y));
}
