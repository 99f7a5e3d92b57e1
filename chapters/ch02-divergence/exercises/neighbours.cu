// Exercise neighbours: chapter 1's in-place kernel, with its additions made by neighbouring threads.
//
// The tree stays: in the round s = stride, element k * 2s of the slice gets element k * 2s + s, for k = 0, 1, 2, ...
// Only who makes addition k changes. Blocks are a power of two; a block's slice has 2 * blockDim.x elements; out gets
// one sum a block.

// ANCHOR: starter
template <typename T>
__device__ void neighbours(T* data, T* out, unsigned int n) {
    unsigned int start = blockIdx.x * (blockDim.x * 2); // first element of the block's slice

    for (unsigned int stride = 1; stride <= blockDim.x; stride *= 2) {
        // TODO: let thread k make addition k. How many additions does the slice have in this round?
        if (threadIdx.x % stride == 0) {
            unsigned int i = start + 2 * threadIdx.x;
            if (i + stride < n) {
                data[i] += data[i + stride];
            }
        }
        __syncthreads();
    }

    if (threadIdx.x == 0) {
        out[blockIdx.x] = data[start];
    }
}
// ANCHOR_END: starter

extern "C" __global__ void neighbours_i32(unsigned int* data, unsigned int* out, unsigned int n) {
    neighbours(data, out, n);
}
extern "C" __global__ void neighbours_f32(float* data, float* out, unsigned int n) {
    neighbours(data, out, n);
}
