// A mistake: the mean square less the squared mean, of two large numbers that are nearly equal.

__device__ void row_moments(const float* in, float* out, unsigned int rows, unsigned int cols) {
    unsigned int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8, lane = threadIdx.x % 8;
    float sum = 0, squares = 0;
    for (unsigned int c = lane; row < rows && c < cols; c += 8) {
        float x = in[static_cast<size_t>(row) * cols + c];
        sum += x;
        squares += x * x;
    }
    for (unsigned int offset = 4; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
        squares += __shfl_xor_sync(0xffffffff, squares, offset);
    }
    float mean = sum / cols;
    if (row < rows && lane == 0) {
        out[2 * row] = mean;
        out[2 * row + 1] = squares / cols - mean * mean;
    }
}

extern "C" __global__ void row_moments_f32(const float* in, float* out, unsigned int rows, unsigned int cols) {
    row_moments(in, out, rows, cols);
}
