// weights summed by bin, a copy for each warp
// simt: --kernel hist_sums --grid 4 --block 128 --arg bin=u8[4000]:hash8 --arg w=u32[4000]:rand(32) --arg out=u64[64]:zero --arg n=i32:4000 --print out
extern "C" __global__ void hist_sums(const unsigned char *bin, const unsigned *w, unsigned long long *out, int n)
{
    __shared__ unsigned long long h[4][64];
    for (int k = threadIdx.x; k < 256; k += 128) (&h[0][0])[k] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += 512) atomicAdd(&h[threadIdx.x >> 5][bin[i] & 63], (unsigned long long)w[i]);
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&out[threadIdx.x], h[0][threadIdx.x] + h[1][threadIdx.x] + h[2][threadIdx.x] + h[3][threadIdx.x]);
}
