// The lower half shuffles from the upper one, which skips it, does a little, and exits.
// simt: --kernel shuffle_from_absent_half --grid 2 --block 32 --arg in=i32[64]:hash8 --arg out=i32[64]:zero --print out
extern "C" __global__ void shuffle_from_absent_half(const int* in, int* out) {
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    int v = in[i];
    if (t < 16) v += 1000 * __shfl_down_sync(0xffffffffu, v, 16);
    out[i] = v;
}
