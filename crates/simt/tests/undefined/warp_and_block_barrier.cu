// The lower half of each warp comes to a warp barrier for all 32, the upper half to a barrier of the block, and each then to the other.
// simt: --kernel warp_and_block_barrier --grid 2 --block 64 --arg in=i32[128]:hash8 --arg out=i32[128]:zero --print out
extern "C" __global__ void warp_and_block_barrier(const int* in, int* out) {
    __shared__ volatile int parts[64];
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    int v = in[i];
    parts[t] = v;
    if (t % 32 < 16) {
        __syncwarp();
        parts[t] = v + 1;
        __syncthreads();
        v = parts[t ^ 16];
    } else {
        __syncthreads();
        parts[t] = v + 2;
        __syncwarp();
        v = parts[t ^ 16] + 1000;
    }
    out[i] = v;
}
