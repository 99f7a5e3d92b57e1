// A mistake: convergent_global without the block's own start and without a guard. It is right for one block and exactly
// 2 * blockDim.x elements, and for nothing else: with fewer it reads past the end, with more all blocks sum the same
// first elements, on top of each other.

extern "C" __global__ void one_full_block_only_i32(unsigned int* data, unsigned int* out, unsigned int n) {
    // ANCHOR: mistake
    unsigned int i = threadIdx.x;
    for (unsigned int stride = blockDim.x; stride > 0; stride /= 2) {
        if (threadIdx.x < stride) {
            data[i] += data[i + stride];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        *out = data[0];
    }
    // ANCHOR_END: mistake
}
