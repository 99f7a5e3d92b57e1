// The lanes that skip the warp barrier come to a barrier of the block, as all lanes do.
// simt: --kernel barrier_behind_it --grid 2 --block 64 --arg in=i32[128]:hash8 --arg out=i32[128]:zero --print out
extern "C" __global__ void barrier_behind_it(const int* in, int* out) {
    __shared__ int parts[64];
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    parts[t] = in[i];
    __syncthreads();
    if (t < 2) {
        parts[t] += parts[t + 2];
        __syncwarp();
        if (t == 0) parts[0] += parts[1];
    }
    __syncthreads();
    out[i] = parts[0] + (int)t;
}
