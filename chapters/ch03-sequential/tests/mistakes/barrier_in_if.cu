// A mistake: the barrier is inside the `if`. Each round of 32 sums and more is decided by whole warps, so that no warp
// diverges there. A block's barrier asks for the whole block all the same: warps 4 to 7 never come to the first one.

constexpr unsigned int MAX_BLOCK = 1024;

extern "C" __global__ void barrier_in_if_i32(const unsigned int* in, unsigned int* out, unsigned int n) {
    __shared__ unsigned int sums[MAX_BLOCK];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + tid;

    sums[tid] = i < n ? in[i] : 0;
    __syncthreads();

    // ANCHOR: mistake
    for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) {
            sums[tid] += sums[tid + s];
            __syncthreads();
        }
    }
    // ANCHOR_END: mistake

    if (tid == 0) {
        out[blockIdx.x] = sums[0];
    }
}
