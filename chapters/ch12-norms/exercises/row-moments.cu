// Exercise: mean and variance of each row of a matrix, by eight lanes a row,
// each element read once.
//
// Element c of row r is in[r * cols + c]; out[2 * r] is the row's mean, and
// out[2 * r + 1] its variance: the mean of the squared distances from the
// mean. A block has 256 threads, and there is a block for every 32 rows, the
// last of which may not all be there.

// ANCHOR: starter
__device__ void row_moments(const float* in, float* out, unsigned int rows,
                            unsigned int cols) {
    unsigned int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8;
    unsigned int lane = threadIdx.x % 8;
    float count = 0, mean = 0; // of the elements so far
    float squares = 0; // the sum of their squared distances from that mean
    // TODO: take this lane's elements one after the other. An element moves
    // the mean; what does it do to the squares?
    // TODO: merge what the eight lanes have. Some may have no element.
    if (row < rows && lane == 0) {
        out[2 * row] = mean;
        out[2 * row + 1] = squares / cols;
    }
}
// ANCHOR_END: starter

extern "C" __global__ void row_moments_f32(const float* in, float* out,
                                           unsigned int rows,
                                           unsigned int cols) {
    row_moments(in, out, rows, cols);
}
