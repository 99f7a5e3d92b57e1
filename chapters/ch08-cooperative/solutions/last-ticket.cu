// The last block adds what the others left: one solution.
//
// Each thread sums every (gridDim.x * blockDim.x)-th element, each block leaves one value in
// state[1 + blockIdx.x], and the last block to finish adds those. state[0] is the counter of
// tickets. All words are 0 before the first launch. The second gets what the first leaves.

// The block's sum, right in thread 0. Blocks are a multiple of 32 threads.
__device__ unsigned int block_sum(unsigned int value) {
    __shared__ unsigned int of_warps[32];
    unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    value = __reduce_add_sync(0xffffffff, value);
    __syncthreads();
    if (lane == 0) of_warps[warp] = value;
    __syncthreads();
    unsigned int mine = lane < blockDim.x / 32 ? of_warps[lane] : 0;
    return __reduce_add_sync(0xffffffff, mine);
}

extern "C" __global__ void last_ticket_i32(const unsigned int* in, unsigned int* out, unsigned int n,
                                           unsigned long long* state) {
    unsigned int sum = 0;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        sum += in[i];
    }
    sum = block_sum(sum);
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        state[1 + blockIdx.x] = sum;
        __threadfence();
        is_last = atomicAdd(state, 1ull) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (is_last) {
        sum = 0;
        for (unsigned int b = threadIdx.x; b < gridDim.x; b += blockDim.x) {
            sum += static_cast<unsigned int>(state[1 + b]);
        }
        sum = block_sum(sum);
        if (threadIdx.x == 0) {
            *out = sum;
            // Atomic, as the tickets are: in C++ a plain store beside them is a data race,
            // and a volatile one is no better.
            atomicExch(state, 0ull);
        }
    }
}
