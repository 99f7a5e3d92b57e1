// simt: --kernel half_sum --grid 4 --block 128 --arg x=f16[512]:rand(34) --arg out=f16[4]:zero --arg out2=f16[8]:zero --print out --print out2
#include <cuda_fp16.h>
extern "C" __global__ void half_sum(const __half *x, __half *out, __half2 *out2)
{
    __shared__ __half s[128];
    __shared__ __half2 s2[64];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 128 + t];
    if (t < 64) s2[t] = reinterpret_cast<const __half2 *>(x)[blockIdx.x * 64 + t];
    __syncthreads();
    for (int w = 64; w; w >>= 1) {
        if (t < w) s[t] = __hadd(s[t], s[t + w]);
        if (w < 64 && t < w) s2[t] = __hadd2(s2[t], s2[t + w]);
        __syncthreads();
    }
    if (t == 0) { out[blockIdx.x] = s[0]; out2[blockIdx.x] = s2[0]; }
}
