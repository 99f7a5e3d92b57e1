// A mistake: the number of columns is cut to 16 bits.

#define NONE __int_as_float(0xff800000) // the largest of no elements: minus infinity

__device__ float power(float x, float most) {
    return x == most ? 1.0f : expf(x - most);
}

__device__ void row_logsumexp(const float* in, float* out, unsigned int rows, unsigned int cols) {
    unsigned int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8, lane = threadIdx.x % 8;
    bool is_there = row < rows;
    float most = NONE;
    float sum = 0;
    for (unsigned int c = lane; is_there && c < (cols & 0xffff); c += 8) {
        float x = in[(size_t)row * cols + c];
        if (x > most) {
            sum *= power(most, x);
            most = x;
        }
        sum += power(x, most);
    }
    for (unsigned int offset = 4; offset > 0; offset /= 2) {
        float other_most = __shfl_xor_sync(0xffffffff, most, offset);
        float other_sum = __shfl_xor_sync(0xffffffff, sum, offset);
        float top = fmaxf(most, other_most);
        sum = sum * power(most, top) + other_sum * power(other_most, top);
        most = top;
    }
    if (is_there && lane == 0) out[row] = most + logf(sum);
}

extern "C" __global__ void row_logsumexp_f32(const float* in, float* out, unsigned int rows, unsigned int cols) {
    row_logsumexp(in, out, rows, cols);
}
