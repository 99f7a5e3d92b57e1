// A mistake: a lane without an element has the maximum -inf, and -inf minus
// -inf is no number.

// ANCHOR: mistake
extern "C" __global__ void empty_lanes_f32(const float* in, float* out,
                                           unsigned int cols,
                                           unsigned long long pitch) {
    __shared__ float2 pairs[256];
    const float* row = in + blockIdx.x * pitch;
    // Maximum and sum of no elements.
    float2 mine = {__int_as_float(0xff800000), 0};
    for (unsigned int c = threadIdx.x; c < cols; c += blockDim.x) {
        float max = fmaxf(mine.x, row[c]);
        mine = {max, mine.y * expf(mine.x - max) + expf(row[c] - max)};
    }
    pairs[threadIdx.x] = mine;
    __syncthreads();
    for (unsigned int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (threadIdx.x < stride) {
            float2 a = pairs[threadIdx.x], b = pairs[threadIdx.x + stride];
            float max = fmaxf(a.x, b.x);
            pairs[threadIdx.x] = {
                max, a.y * expf(a.x - max) + b.y * expf(b.x - max)};
        }
        __syncthreads();
    }
    float2 all = pairs[0];
    for (unsigned int c = threadIdx.x; c < cols; c += blockDim.x)
        out[blockIdx.x * pitch + c] = expf(row[c] - all.x) / all.y;
}
// ANCHOR_END: mistake
