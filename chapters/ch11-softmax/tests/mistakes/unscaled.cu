// A mistake: the lanes' sums are added up as they are, and each was taken
// with a maximum of its own.

// ANCHOR: mistake
extern "C" __global__ void unscaled_f32(const float* in, float* out,
                                        unsigned int cols,
                                        unsigned long long pitch) {
    __shared__ float maxima[8], sums[8];
    const float* row = in + blockIdx.x * pitch;
    float max = -1e38f, sum = 0;
    for (unsigned int c = threadIdx.x; c < cols; c += blockDim.x) {
        float larger = fmaxf(max, row[c]);
        sum = sum * expf(max - larger) + expf(row[c] - larger);
        max = larger;
    }
    for (unsigned int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
        max = fmaxf(max, __shfl_xor_sync(0xffffffff, max, offset));
    }
    if (threadIdx.x % 32 == 0)
        maxima[threadIdx.x / 32] = max, sums[threadIdx.x / 32] = sum;
    __syncthreads();
    max = maxima[0], sum = sums[0];
    for (unsigned int w = 1; w < 8; w++)
        sum += sums[w], max = fmaxf(max, maxima[w]);
    for (unsigned int c = threadIdx.x; c < cols; c += blockDim.x)
        out[blockIdx.x * pitch + c] = expf(row[c] - max) / sum;
}
// ANCHOR_END: mistake
