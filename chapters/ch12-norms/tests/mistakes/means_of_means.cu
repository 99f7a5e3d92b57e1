// A mistake: squared distances are added up as they are, and those of each
// thread are from a mean of its own.

// ANCHOR: mistake
extern "C" __global__ void means_of_means_f32(const float* in, float* out,
                                              unsigned int cols,
                                              unsigned long long pitch,
                                              const float* weights,
                                              const float* biases) {
    __shared__ float sums[8], squares[8];
    const float* row = in + blockIdx.x * pitch;
    float count = 0, mean = 0, square = 0;
    // Welford: right for the elements of one thread.
    for (unsigned int c = threadIdx.x; c < cols; c += blockDim.x) {
        float apart = row[c] - mean;
        mean += apart / ++count;
        square += apart * (row[c] - mean);
    }
    float sum = count * mean;
    for (unsigned int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
        square += __shfl_xor_sync(0xffffffff, square, offset);
    }
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / 32] = sum, squares[threadIdx.x / 32] = square;
    __syncthreads();
    sum = square = 0;
    for (unsigned int w = 0; w < 8; w++) sum += sums[w], square += squares[w];
    float scale = 1 / sqrtf(square / cols + 1e-5f);
    for (unsigned int c = threadIdx.x; c < cols; c += blockDim.x) {
        out[blockIdx.x * pitch + c] =
            (row[c] - sum / cols) * scale * weights[c] + biases[c];
    }
}
// ANCHOR_END: mistake
