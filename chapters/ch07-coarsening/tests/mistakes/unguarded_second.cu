// A mistake: a grid-stride loop whose test holds for its first load only. Wherever a
// step of a block ends between the two loads, the second reads past the end.

constexpr unsigned int MAX_BLOCK = 1024;

extern "C" __global__ void unguarded_second_i32(const unsigned int* in, unsigned int* out, unsigned int n) {
    __shared__ unsigned int sums[MAX_BLOCK];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (blockDim.x * 2) + tid;
    unsigned int grid_size = blockDim.x * 2 * gridDim.x;

    // ANCHOR: mistake
    sums[tid] = 0;
    while (i < n) {
        sums[tid] += in[i] + in[i + blockDim.x];
        i += grid_size;
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
