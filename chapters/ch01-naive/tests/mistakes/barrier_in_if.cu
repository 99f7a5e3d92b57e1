// A mistake: interleaved_modulo with its barrier inside the `if`. Only the threads that add reach it; the others of the
// block go on without them. A barrier that part of a block reaches is undefined.

constexpr unsigned int MAX_BLOCK = 1024;

extern "C" __global__ void barrier_in_if_i32(const unsigned int* in, unsigned int* out, unsigned int n) {
    __shared__ unsigned int sums[MAX_BLOCK];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + tid;

    sums[tid] = i < n ? in[i] : 0;
    __syncthreads();

    // ANCHOR: mistake
    for (unsigned int s = 1; s < blockDim.x; s *= 2) {
        if (tid % (2 * s) == 0) {
            sums[tid] += sums[tid + s];
            __syncthreads();
        }
    }
    // ANCHOR_END: mistake

    if (tid == 0) {
        out[blockIdx.x] = sums[0];
    }
}
