// threadFenceReduction of the samples
// simt: --kernel last_block_ticket --grid 13 --block 64 --arg in=f32[5000]:rand(55) --arg part=f32[13]:zero --arg out=f32[1]:zero --arg ticket=u32[1]:zero --arg n=u32:5000 --print out --print ticket
extern "C" __global__ void last_block_ticket(const float *in, volatile float *part, float *out, unsigned *ticket, unsigned n)
{
    __shared__ float s[64]; __shared__ bool amLast;
    float a = 0;
    for (unsigned i = blockIdx.x * 64 + threadIdx.x; i < n; i += 64 * gridDim.x) a += in[i];
    s[threadIdx.x] = a; __syncthreads();
    for (int w = 32; w; w >>= 1) { if (threadIdx.x < w) s[threadIdx.x] += s[threadIdx.x + w]; __syncthreads(); }
    if (threadIdx.x == 0) {
        part[blockIdx.x] = s[0];
        __threadfence();
        amLast = atomicInc(ticket, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (amLast) {
        __threadfence();
        a = threadIdx.x < gridDim.x ? part[threadIdx.x] : 0.f;
        s[threadIdx.x] = a; __syncthreads();
        for (int w = 32; w; w >>= 1) { if (threadIdx.x < w) s[threadIdx.x] += s[threadIdx.x + w]; __syncthreads(); }
        if (threadIdx.x == 0) { *out = s[0]; *ticket = 0; }
    }
}
