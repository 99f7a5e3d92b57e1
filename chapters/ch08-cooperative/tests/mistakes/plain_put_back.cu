// A mistake of chapter 8: a slot that is put back by an ordinary store.
//
// Flag and value come as one word, and block 0 clears the word for the next launch. The load
// that saw the word is relaxed: it orders nothing. So nothing orders the clearing after
// the message either, and the next launch might find the old message.

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
extern "C" __global__ void plain_put_back_i32(const unsigned int* in, unsigned int* out, unsigned int n,
                                              unsigned long long* slots) {
    constexpr unsigned long long READY = 1ull << 32;
    unsigned int sum = 0;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        sum += in[i];
    }
    sum = block_sum(sum);
    if (blockIdx.x > 0) {
        if (threadIdx.x == 0) {
            asm volatile("st.relaxed.gpu.global.u64 [%0], %1;"
                         :: "l"(slots + blockIdx.x), "l"(READY | static_cast<unsigned int>(sum)) : "memory");
        }
        return;
    }
    unsigned int theirs = 0;
    for (unsigned int b = 1 + threadIdx.x; b < gridDim.x; b += blockDim.x) {
        unsigned long long word = 0;
        while ((word & READY) == 0) {
            asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(slots + b) : "memory");
        }
        theirs += static_cast<unsigned int>(word);
        slots[b] = 0; // for the next launch
    }
    __syncthreads();
    theirs = block_sum(theirs);
    if (threadIdx.x == 0) *out = sum + theirs;
}
// ANCHOR_END: mistake
