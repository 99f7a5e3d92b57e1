// The first lane of each warp adds up what its warp has written, and no `__syncwarp` stands between. The block's sum, behind a
// barrier, is as it should be.
extern "C" __global__ void block_sum(const int *in, int *out)
{
    __shared__ int lanes[64];
    __shared__ int warps[2];
    unsigned t = threadIdx.x;
    lanes[t] = in[t];
    if (t % 32 == 0) {
        int sum = 0;
        #pragma unroll 1
        for (int i = 0; i < 32; i++) {
            sum += lanes[t + i]; //~ ERROR[shared-race]
        }
        warps[t / 32] = sum;
    }
    __syncthreads();
    if (t == 0) {
        out[0] = warps[0] + warps[1];
    }
}
