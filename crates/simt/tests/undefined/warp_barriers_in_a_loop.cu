// Lane t goes round t + 1 times, each time with a warp barrier for all 32; then it does a little and exits.
// simt: --kernel warp_barriers_in_a_loop --grid 2 --block 32 --arg in=i32[64]:hash8 --arg out=i32[64]:zero --print out
extern "C" __global__ void warp_barriers_in_a_loop(const int* in, int* out) {
    __shared__ volatile int parts[33];
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    parts[t] = in[i];
    if (t == 0) parts[32] = 1000;
    int v = 0;
    for (unsigned k = 0; k <= t; ++k) {
        __syncwarp();
        v += parts[32 - k];
    }
    out[i] = v;
}
