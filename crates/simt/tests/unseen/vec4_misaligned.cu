// A sum of a slice that begins anywhere: head to the next 16 bytes, float4 body, tail.
// simt: --kernel vec4_misaligned --grid 3 --block 96 --arg in=f32[4099]:hash8 --arg out=f64[3]:zero --arg first=i32:3 --arg n=i32:4095 --print out
#include <cstdint>
extern "C" __global__ void vec4_misaligned(const float *__restrict__ base, double *out, int first, int n)
{
    const float *p = base + first;
    int head = ((16 - ((uintptr_t)p & 15)) & 15) / 4;
    if (head > n) head = n;
    int g = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
    double acc = 0;
    if (g < head) acc += p[g];
    const float4 *q = reinterpret_cast<const float4 *>(p + head);
    int m = (n - head) / 4;
    for (int k = g; k < m; k += step) { float4 v = __ldg(q + k); acc += (double)v.x + v.y + ((double)v.z + v.w); }
    int tail = head + 4 * m + g;
    if (tail < n) acc += p[tail];
    __shared__ double warps[32];
    for (int d = 16; d; d >>= 1) acc += __shfl_xor_sync(0xffffffff, acc, d);
    if ((threadIdx.x & 31) == 0) warps[threadIdx.x >> 5] = acc;
    __syncthreads();
    if (threadIdx.x < 32) {
        acc = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0.0;
        for (int d = 16; d; d >>= 1) acc += __shfl_down_sync(0xffffffff, acc, d);
        if (!threadIdx.x) out[blockIdx.x] = acc;
    }
}
