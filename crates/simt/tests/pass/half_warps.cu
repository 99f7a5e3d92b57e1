// Both halves of a warp execute one shuffle at once, each with a mask of its own.
extern "C" __global__ void half_warps(int* out) {
    unsigned lane = threadIdx.x;
    unsigned mask = lane < 16 ? 0x0000ffffu : 0xffff0000u;
    int sum = lane;
    for (int offset = 8; offset > 0; offset /= 2) sum += __shfl_xor_sync(mask, sum, offset, 16);
    out[lane] = sum;
}
