// float4 with stride 3
// simt: --kernel sm_f4_stride3 --grid 2 --block 64 --arg out=i32[256]:zero --print out
extern "C" __global__ void sm_f4_stride3(int *out)
{
    __shared__ float4 s[256];
    for (int i = threadIdx.x; i < 256; i += 64) s[i] = make_float4(i, i + 1, i * 2, blockIdx.x);
    __syncthreads();
    float4 a = s[threadIdx.x * 3 & 255];
    out[blockIdx.x * 64 + threadIdx.x] = (int)(a.x + a.y + a.z + a.w);
}
