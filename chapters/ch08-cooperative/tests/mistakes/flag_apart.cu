// A mistake of chapter 8: value and flag in two words.
//
// Block 0 waits for each block's flag and then reads its value. Flags are atomic, and two
// relaxed accesses to different words have no order: the flag may arrive first.

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
extern "C" __global__ void flag_apart_i32(const unsigned int* in, unsigned int* out, unsigned int n,
                                          unsigned int* of_blocks, unsigned int* flags) {
    unsigned int sum = 0;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        sum += in[i];
    }
    sum = block_sum(sum);
    if (blockIdx.x > 0) {
        if (threadIdx.x == 0) {
            of_blocks[blockIdx.x] = sum;
            atomicExch(flags + blockIdx.x, 1); // what puts the value before it?
        }
        return;
    }
    unsigned int theirs = 0;
    for (unsigned int b = 1 + threadIdx.x; b < gridDim.x; b += blockDim.x) {
        while (atomicExch(flags + b, 0) == 0) {}
        theirs += of_blocks[b];
    }
    __syncthreads();
    theirs = block_sum(theirs);
    if (threadIdx.x == 0) *out = sum + theirs;
}
// ANCHOR_END: mistake
