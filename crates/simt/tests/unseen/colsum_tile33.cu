// Transposed tile in shared memory, padded: no bank conflicts.
// simt: --kernel colsum_tile33 --grid 4 --block 32,8 --arg m=i32[12800]:rand(31) --arg out=i32[128]:zero --arg rows=i32:100 --arg cols=i32:128 --print out
extern "C" __global__ void colsum_tile33(const int *m, int *out, int rows, int cols)
{
    __shared__ int tile[32][33];
    int col = blockIdx.x * 32 + threadIdx.x, acc[4] = {};
    for (int r0 = 0; r0 < rows; r0 += 32) {
        for (int k = threadIdx.y; k < 32; k += 8) tile[k][threadIdx.x] = r0 + k < rows ? m[(r0 + k) * cols + col] : 0;
        __syncthreads();
        for (int q = 0; q < 4; q++) acc[q] += tile[threadIdx.x][threadIdx.y + 8 * q];
        __syncthreads();
    }
    for (int q = 0; q < 4; q++) {
        int s = __reduce_add_sync(~0u, acc[q]);
        if (threadIdx.x == 0) out[blockIdx.x * 32 + threadIdx.y + 8 * q] = s;
    }
}
