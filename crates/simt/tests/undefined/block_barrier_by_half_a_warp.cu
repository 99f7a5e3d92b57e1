// Half of a warp comes to the barrier of the block. The other half skips it, does a little, and exits.
// simt: --kernel block_barrier_by_half_a_warp --grid 2 --block 64 --arg in=i32[128]:hash8 --arg out=i32[128]:zero --print out
extern "C" __global__ void block_barrier_by_half_a_warp(const int* in, int* out) {
    __shared__ int parts[64];
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    parts[t] = in[i];
    int v = 5;
    if (t < 48) {
        __syncthreads();
        v = parts[(t + 32) % 48];
    }
    out[i] = v;
}
