// A mistake: the variance as the mean of the squares less the square of the
// mean. Far from 0 both are large, and what is left of their difference are
// roundings.

// ANCHOR: mistake
extern "C" __global__ void squares_less_square_f32(
    const float* in, float* out, unsigned int cols, unsigned long long pitch,
    const float* weights, const float* biases) {
    __shared__ float sums[8], squares[8];
    const float* row = in + blockIdx.x * pitch;
    float sum = 0, square = 0;
    for (unsigned int c = threadIdx.x; c < cols; c += blockDim.x)
        sum += row[c], square += row[c] * row[c];
    for (unsigned int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
        square += __shfl_xor_sync(0xffffffff, square, offset);
    }
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / 32] = sum, squares[threadIdx.x / 32] = square;
    __syncthreads();
    sum = square = 0;
    for (unsigned int w = 0; w < 8; w++) sum += sums[w], square += squares[w];
    float mean = sum / cols;
    float scale = 1 / sqrtf(square / cols - mean * mean + 1e-5f);
    for (unsigned int c = threadIdx.x; c < cols; c += blockDim.x) {
        out[blockIdx.x * pitch + c] =
            (row[c] - mean) * scale * weights[c] + biases[c];
    }
}
// ANCHOR_END: mistake
