// A mistake: the step of the loop computes s >> 1 and keeps it nowhere. s stays blockDim.x / 2, so that the first round
// comes again and again, adds the far half each time, and never ends. It is a missing `=`.

constexpr unsigned int MAX_BLOCK = 1024;

extern "C" __global__ void step_never_changes_i32(const unsigned int* in, unsigned int* out, unsigned int n) {
    __shared__ unsigned int sums[MAX_BLOCK];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + tid;

    sums[tid] = i < n ? in[i] : 0;
    __syncthreads();

    // ANCHOR: mistake
    for (unsigned int s = blockDim.x / 2; s > 0; s >> 1) {
        if (tid < s) {
            sums[tid] += sums[tid + s];
        }
        __syncthreads();
    }
    // ANCHOR_END: mistake

    if (tid == 0) {
        out[blockIdx.x] = sums[0];
    }
}
