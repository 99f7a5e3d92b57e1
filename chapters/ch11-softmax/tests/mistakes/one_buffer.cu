// A mistake: the warps' sums go into the words from which slower warps still
// read the maxima.

// ANCHOR: mistake
extern "C" __global__ void one_buffer_f32(const float* in, float* out,
                                          unsigned int cols,
                                          unsigned long long pitch) {
    __shared__ float of_warps[8];
    const float* row = in + blockIdx.x * pitch;
    float max = -1e38f, sum = 0;
    for (unsigned int c = threadIdx.x; c < cols; c += blockDim.x)
        max = fmaxf(max, row[c]);
    for (unsigned int offset = 16; offset > 0; offset /= 2)
        max = fmaxf(max, __shfl_xor_sync(0xffffffff, max, offset));
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = max;
    __syncthreads();
    for (unsigned int w = 0; w < 8; w++) max = fmaxf(max, of_warps[w]);

    for (unsigned int c = threadIdx.x; c < cols; c += blockDim.x)
        sum += expf(row[c] - max);
    for (unsigned int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
    // No barrier since the maxima were read.
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0;
    for (unsigned int w = 0; w < 8; w++) sum += of_warps[w];
    for (unsigned int c = threadIdx.x; c < cols; c += blockDim.x)
        out[blockIdx.x * pitch + c] = expf(row[c] - max) / sum;
}
// ANCHOR_END: mistake
