// A mistake: rows are read in vectors of 16 bytes, wherever they begin.

// ANCHOR: mistake
extern "C" __global__ void any_vectors_f32(const float* in, float* out,
                                           unsigned int rows,
                                           unsigned int cols) {
    unsigned int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32,
                 lane = threadIdx.x % 32;
    if (row >= rows) return; // whole warps leave
    const float4* vectors = reinterpret_cast<const float4*>(in + row * cols);
    float sum = 0;
    for (unsigned int i = lane; i < cols / 4; i += 32) {
        float4 v = vectors[i];
        sum += (v.x + v.y) + (v.z + v.w);
    }
    for (unsigned int c = cols / 4 * 4 + lane; c < cols; c += 32)
        sum += in[row * cols + c];
    for (unsigned int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
    if (lane == 0) out[row] = sum;
}
// ANCHOR_END: mistake
