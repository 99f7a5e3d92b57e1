// A mistake: eight lanes share a row, and the shuffles bring together all 32 lanes of the warp, which is four rows.

// ANCHOR: mistake
extern "C" __global__ void whole_warp_f32(const float* in, float* out,
                                          unsigned int rows,
                                          unsigned int cols) {
    unsigned int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8,
                 lane = threadIdx.x % 8;
    float sum = 0;
    for (unsigned int c = lane; row < rows && c < cols; c += 8)
        sum += in[row * cols + c];
    for (unsigned int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
    if (lane == 0 && row < rows) out[row] = sum;
}
// ANCHOR_END: mistake
