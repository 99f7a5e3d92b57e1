// One word holds the sum and says when it is whole: the count lies below the sum, which falls out at the
// top as a sum of 32 bits does.
//
// Each thread adds up every (gridDim.x * blockDim.x)-th element. state[0] is 0 before the first launch;
// the second one gets what the first leaves.

using u64 = unsigned long long;

// The block's sum, right in thread 0. Blocks are a multiple of 32 threads.
__device__ unsigned int block_sum(unsigned int value) {
    __shared__ unsigned int of_warps[32];
    unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    value = __reduce_add_sync(0xffffffff, value);
    if (lane == 0) of_warps[warp] = value;
    __syncthreads();
    unsigned int mine = lane < blockDim.x / 32 ? of_warps[lane] : 0;
    return __reduce_add_sync(0xffffffff, mine);
}

extern "C" __global__ void count_in_the_word_i32(
    const unsigned int* in, unsigned int* out, unsigned int n, u64* state) {
    unsigned int sum = 0;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * blockDim.x)
        sum += in[i];
    sum = block_sum(sum);
    if (threadIdx.x > 0) return;
    u64 mine = static_cast<u64>(sum) << 32 | 1;
    u64 others = atomicAdd(state, mine);
    if (static_cast<unsigned int>(others) + 1 < gridDim.x) return;
    *out = static_cast<unsigned int>((others + mine) >> 32);
    atomicExch(state, 0ull);
}
