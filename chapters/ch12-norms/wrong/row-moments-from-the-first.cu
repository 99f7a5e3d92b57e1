// A mistake: the distances are from the first element, wherever it lies.

// All of a row's elements are near its first: what is added up are distances from that.
__device__ void row_moments(const float* in, float* out, unsigned int rows, unsigned int cols) {
    unsigned int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8, lane = threadIdx.x % 8;
    bool has = row < rows && lane < cols;
    float x = has ? in[row * cols + lane] : 0.0f;
    float first = __shfl_sync(0xffffffff, x, 0, 8);
    float sum = 0, squares = 0;
    if (has) {
        sum = x - first;
        squares = sum * sum;
        for (unsigned int c = lane + 8; c < cols; c += 8) {
            float d = in[row * cols + c] - first;
            sum += d;
            squares += d * d;
        }
    }
    for (unsigned int offset = 4; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
        squares += __shfl_xor_sync(0xffffffff, squares, offset);
    }
    if (row < rows && lane == 0) {
        float m = sum / cols;
        out[2 * row] = first + m;
        out[2 * row + 1] = squares / cols - m * m;
    }
}

extern "C" __global__ void row_moments_f32(const float* in, float* out, unsigned int rows, unsigned int cols) {
    row_moments(in, out, rows, cols);
}
