// Four counts a warp in shared memory, merged into global memory; bytes come sixteen at a time.
// simt: --kernel byte_histogram --grid 6 --block 128 --arg in=u32[20000]:rand(77) --arg bins=u32[256]:zero --arg bytes=u32:79993 --print bins
template <int Copies>
__device__ void count(unsigned (&bins)[Copies][256], unsigned copy, unsigned word)
{
#pragma unroll
    for (int k = 0; k < 4; k++) {
        atomicAdd(&bins[copy][word >> (8 * k) & 0xff], 1u);
    }
}

extern "C" __global__ void byte_histogram(const unsigned char *in, unsigned *bins, unsigned bytes)
{
    __shared__ unsigned mine[4][256];
    for (unsigned k = threadIdx.x; k < 4 * 256; k += blockDim.x) {
        mine[k / 256][k % 256] = 0;
    }
    __syncthreads();
    const uint4 *quads = reinterpret_cast<const uint4 *>(in);
    unsigned copy = threadIdx.x / 32 % 4, stride = gridDim.x * blockDim.x;
    for (unsigned k = blockIdx.x * blockDim.x + threadIdx.x; k < bytes / 16; k += stride) {
        uint4 quad = quads[k];
        count(mine, copy, quad.x);
        count(mine, copy, quad.y);
        count(mine, copy, quad.z);
        count(mine, copy, quad.w);
    }
    if (blockIdx.x == 0 && threadIdx.x < bytes % 16) {
        atomicAdd(&mine[0][in[bytes / 16 * 16 + threadIdx.x]], 1u);
    }
    __syncthreads();
    for (unsigned k = threadIdx.x; k < 256; k += blockDim.x) {
        unsigned sum = mine[0][k] + mine[1][k] + mine[2][k] + mine[3][k];
        if (sum != 0) {
            atomicAdd(&bins[k], sum);
        }
    }
}
