// A mistake: first_add with a test for its first load, which says nothing about the
// second. Threads whose first element is there and whose second is not read past the
// end of the input.

constexpr unsigned int MAX_BLOCK = 1024;

extern "C" __global__ void one_guard_i32(const unsigned int* in, unsigned int* out, unsigned int n) {
    __shared__ unsigned int sums[MAX_BLOCK];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (blockDim.x * 2) + tid;

    // ANCHOR: mistake
    sums[tid] = 0;
    if (i < n) {
        sums[tid] = in[i] + in[i + blockDim.x];
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
