// Floating-point atomics where every sum is exact, and what global memory does with subnormal numbers.
// simt: --kernel atomics_float --grid 2 --block 64 --arg in=u32[128]:hash8 --arg f=f32[8]:zero --arg d=f64[4]:zero --arg h=u32[8]:zero --print f --print d --print h
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void atomics_float(const unsigned* in, float* f, double* d, unsigned* h) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, x = in[i] % 8;
    atomicAdd(f + x % 2, x * 0.5f);
    atomicAdd(d + x % 2, x * 0.25);
    atomicAdd((__half2*)h + x % 2, __floats2half2_rn(x, 1));
    atomicAdd((__nv_bfloat162*)h + 2 + x % 2, __floats2bfloat162_rn(1, -1));
    atomicAdd((__half*)(h + 4) + x % 2, __float2half(0.5f));
    if (i == 0) {
        __shared__ float s;
        s = __int_as_float(0x00000123);
        atomicAdd(&s, __int_as_float(0x00000001));
        f[2] = s;
        atomicAdd(f + 3, __int_as_float(0x00000123));
        atomicAdd(f + 4, -__int_as_float(0x00400000));
        atomicAdd(f + 5, __int_as_float(0x00800001));
        atomicAdd(f + 5, -__int_as_float(0x00800000));
        atomicAdd(d + 2, __longlong_as_double(0x123));
        atomicExch(f + 6, -2.5f);
    }
}
