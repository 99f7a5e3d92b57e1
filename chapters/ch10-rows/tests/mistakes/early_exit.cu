// A mistake: lanes for which a row has no element leave, and the others of the row read from them.

// ANCHOR: mistake
extern "C" __global__ void early_exit_f32(const float* in, float* out,
                                          unsigned int rows,
                                          unsigned int cols) {
    unsigned int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32,
                 lane = threadIdx.x % 32;
    if (row >= rows || lane >= cols) return;
    float sum = 0;
    for (unsigned int c = lane; c < cols; c += 32) sum += in[row * cols + c];
    for (unsigned int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
    if (lane == 0) out[row] = sum;
}
// ANCHOR_END: mistake
