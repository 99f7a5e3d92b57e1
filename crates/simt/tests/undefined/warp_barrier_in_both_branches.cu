// Even and odd lanes each have a warp barrier for all 32 in their branch.
// simt: --kernel warp_barrier_in_both_branches --grid 2 --block 32 --arg in=i32[64]:hash8 --arg out=i32[64]:zero --print out
extern "C" __global__ void warp_barrier_in_both_branches(const int* in, int* out) {
    __shared__ volatile int parts[32];
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    int v = in[i];
    if (t & 1) {
        parts[t] = v * 3;
        __syncwarp();
        v = parts[t ^ 1] - 1;
    } else {
        parts[t] = v + 7;
        __syncwarp();
        v = parts[t ^ 1] * 2;
    }
    out[i] = v;
}
