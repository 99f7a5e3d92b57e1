// Both halves of a warp come to a barrier of the block, each to another one.
// simt: --kernel block_barrier_in_both_branches --grid 2 --block 64 --arg in=i32[128]:hash8 --arg out=i32[128]:zero --print out
extern "C" __global__ void block_barrier_in_both_branches(const int* in, int* out) {
    __shared__ volatile int parts[64];
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    int v = in[i];
    if (t % 32 < 16) {
        parts[t] = v + 1;
        __syncthreads();
        v = parts[t ^ 16] * 2;
    } else {
        parts[t] = v + 2;
        __syncthreads();
        v = parts[t ^ 16] * 3;
    }
    out[i] = v;
}
