// A mistake: multi_add with the number of steps by a division. 1000 / 256 is 3, so that
// elements 768 to 999 of each block are left out. The test inside the loop cannot be
// false, and says nothing about n.

constexpr unsigned int MAX_BLOCK = 1024;
constexpr unsigned int NUM_PER_BLOCK = 1000;

extern "C" __global__ void remainder_dropped_i32(const unsigned int* in, unsigned int* out, unsigned int n) {
    __shared__ unsigned int sums[MAX_BLOCK];
    unsigned int tid = threadIdx.x;
    const unsigned int* begin = in + blockIdx.x * NUM_PER_BLOCK;

    // ANCHOR: mistake
    sums[tid] = 0;
    for (unsigned int step = 0; step < NUM_PER_BLOCK / blockDim.x; step++) {
        unsigned int i = tid + step * blockDim.x;
        if (i < NUM_PER_BLOCK) {
            sums[tid] += begin[i];
        }
    }
    __syncthreads();
    // ANCHOR_END: mistake

    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) {
            sums[tid] += sums[tid + s];
        }
        __syncthreads();
    }
    if (tid == 0) {
        out[blockIdx.x] = sums[0];
    }
}
