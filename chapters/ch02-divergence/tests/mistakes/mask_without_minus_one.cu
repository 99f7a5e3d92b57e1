// A mistake: bitmask without the - 1. `tid & (2 * s)` tests one bit of the index where all lower bits must be tested,
// so that in every round half of all threads add, and in the last round all. Some read what others are writing, and in
// the last round half of them read past the block's numbers.

constexpr unsigned int MAX_BLOCK = 1024;

extern "C" __global__ void mask_without_minus_one_i32(const unsigned int* in, unsigned int* out, unsigned int n) {
    __shared__ unsigned int sums[MAX_BLOCK];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + tid;

    sums[tid] = i < n ? in[i] : 0;
    __syncthreads();

    // ANCHOR: mistake
    for (unsigned int s = 1; s < blockDim.x; s *= 2) {
        if ((tid & (2 * s)) == 0) {
            sums[tid] += sums[tid + s];
        }
        __syncthreads();
    }
    // ANCHOR_END: mistake

    if (tid == 0) {
        out[blockIdx.x] = sums[0];
    }
}
