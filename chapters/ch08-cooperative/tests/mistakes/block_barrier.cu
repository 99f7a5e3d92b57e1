// A mistake of chapter 8: the barrier of a block, taken for one of the grid.
//
// __syncthreads() waits for the threads of this block and for nobody else. Block 0 reads
// what the other blocks have left so far.

constexpr unsigned int WARP = 32;
constexpr unsigned int MAX_WARPS = 32;

// Right in thread 0. Blocks are a power of two, from 32 threads on.
__device__ unsigned int block_sum(unsigned int value) {
    __shared__ unsigned int of_warps[MAX_WARPS];
    value = __reduce_add_sync(0xffffffff, value);
    if (threadIdx.x % WARP == 0) of_warps[threadIdx.x / WARP] = value;
    __syncthreads();
    value = threadIdx.x < blockDim.x / WARP ? of_warps[threadIdx.x] : 0;
    return __reduce_add_sync(0xffffffff, value);
}

// ANCHOR: mistake
extern "C" __global__ void block_barrier_i32(const unsigned int* in, unsigned int* out, unsigned int n,
                                             unsigned int* of_blocks) {
    unsigned int sum = 0;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        sum += in[i];
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) of_blocks[blockIdx.x] = sum;
    __syncthreads(); // "now all sums are there"
    if (blockIdx.x == 0) {
        sum = 0;
        for (unsigned int b = threadIdx.x; b < gridDim.x; b += blockDim.x) sum += of_blocks[b];
        sum = block_sum(sum);
        if (threadIdx.x == 0) *out = sum;
    }
}
// ANCHOR_END: mistake
