// Even and odd lanes each shuffle in their branch, among themselves, with the mask of all 32.
// simt: --kernel shuffle_in_both_branches --grid 2 --block 32 --arg in=i32[64]:hash8 --arg out=i32[64]:zero --print out
extern "C" __global__ void shuffle_in_both_branches(const int* in, int* out) {
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    int v = in[i];
    if (t & 1) {
        v = __shfl_xor_sync(0xffffffffu, v * 3, 2) - 1;
        out[i] = v;
    } else {
        v = __shfl_xor_sync(0xffffffffu, v + 7, 4) * 2;
        out[i] = v + 100000;
    }
}
