// A mistake: a block takes one row after the other, and its warps write the
// next row's sums where slower warps still read.

// ANCHOR: mistake
extern "C" __global__ void same_buffer_f32(const float* in, float* out,
                                           unsigned long long rows,
                                           unsigned int cols,
                                           unsigned long long pitch,
                                           const float* weights) {
    __shared__ float squares[8];
    for (unsigned long long at = blockIdx.x; at < rows; at += gridDim.x) {
        const float* row = in + at * pitch;
        float square = 0;
        for (unsigned int c = threadIdx.x; c < cols; c += blockDim.x)
            square += row[c] * row[c];
        for (unsigned int offset = 16; offset > 0; offset /= 2)
            square += __shfl_xor_sync(0xffffffff, square, offset);
        if (threadIdx.x % 32 == 0) squares[threadIdx.x / 32] = square;
        __syncthreads();
        square = 0;
        // And no barrier before the next row.
        for (unsigned int w = 0; w < 8; w++) square += squares[w];
        float scale = 1 / sqrtf(square / cols + 1e-5f);
        for (unsigned int c = threadIdx.x; c < cols; c += blockDim.x)
            out[at * pitch + c] = row[c] * scale * weights[c];
    }
}
// ANCHOR_END: mistake
