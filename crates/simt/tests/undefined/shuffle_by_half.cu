// The lower half shuffles among itself with the mask of all 32. The upper half skips it, does a little, and exits.
// simt: --kernel shuffle_by_half --grid 2 --block 32 --arg in=i32[64]:hash8 --arg out=i32[64]:zero --print out
extern "C" __global__ void shuffle_by_half(const int* in, int* out) {
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    int v = in[i];
    if (t < 16) {
        for (unsigned d = 8; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
        v *= 10;
    }
    out[i] = v + (int)t;
}
