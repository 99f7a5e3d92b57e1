// A mistake: simple_global with `<` where `<=` belongs. The last round, stride == blockDim.x, never runs, so that the
// second half of the block's numbers is missing from the sum. Nothing is out of bounds and nothing races: only the
// result is wrong.

extern "C" __global__ void stride_too_short_i32(unsigned int* data, unsigned int* out, unsigned int n) {
    unsigned int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);

    // ANCHOR: mistake
    for (unsigned int stride = 1; stride < blockDim.x; stride *= 2) {
        if (threadIdx.x % stride == 0 && i + stride < n) {
            data[i] += data[i + stride];
        }
        __syncthreads();
    }
    // ANCHOR_END: mistake

    if (threadIdx.x == 0) {
        out[blockIdx.x] = data[i];
    }
}
