// The lanes that skip the warp barrier come to another one, as all lanes do.
// simt: --kernel warp_barrier_behind_it --grid 2 --block 32 --arg in=i32[64]:hash8 --arg out=i32[64]:zero --print out
extern "C" __global__ void warp_barrier_behind_it(const int* in, int* out) {
    __shared__ volatile int parts[32];
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    parts[t] = in[i];
    __syncwarp();
    if (t < 2) {
        parts[t] = parts[t] + parts[t + 2];
        __syncwarp();
        if (t == 0) parts[0] = parts[0] + parts[1];
    }
    __syncwarp();
    out[i] = parts[0] + (int)t;
}
