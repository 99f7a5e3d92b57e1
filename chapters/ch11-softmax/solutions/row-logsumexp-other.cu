// The same, built differently: two pairs a lane, and the largest of all lanes before any sum.

#define NONE __int_as_float(0xff800000) // the largest of no elements: minus infinity

// e^(x - most), where most is the larger: 1 of equals, also of infinite ones.
__device__ float scale(float x, float most) { return x == most ? 1.0f : expf(x - most); }

__device__ void row_logsumexp(const float* in, float* out, unsigned int rows, unsigned int cols) {
    unsigned int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8, lane = threadIdx.x % 8;
    float most[2] = {NONE, NONE}, sum[2] = {0, 0};
    const float* begin = in + static_cast<size_t>(min(row, rows)) * cols;
    auto take = [&](unsigned int k, float x) {
        if (x > most[k]) {
            sum[k] = sum[k] * expf(most[k] - x) + 1;
            most[k] = x;
        } else {
            sum[k] += x == most[k] ? 1 : expf(x - most[k]);
        }
    };
    if (row < rows) {
        unsigned int c = lane;
        for (; c + 8 < cols; c += 16) take(0, begin[c]), take(1, begin[c + 8]);
        if (c < cols) take(0, begin[c]);
    }
    float all = fmaxf(most[0], most[1]);
    for (unsigned int offset = 1; offset < 8; offset *= 2) all = fmaxf(all, __shfl_xor_sync(0xffffffff, all, offset));
    float total = sum[0] * scale(most[0], all) + sum[1] * scale(most[1], all);
    for (unsigned int offset = 1; offset < 8; offset *= 2) total += __shfl_xor_sync(0xffffffff, total, offset);
    if (row < rows && lane == 7) out[row] = logf(total) + all;
}

extern "C" __global__ void row_logsumexp_f32(const float* in, float* out, unsigned int rows, unsigned int cols) {
    row_logsumexp(in, out, rows, cols);
}
