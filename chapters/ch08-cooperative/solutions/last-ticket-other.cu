// The last block adds what the others left: another solution. The ticket wraps by itself, and every thread has a fence.

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
    __shared__ unsigned int ticket;
    unsigned int sum = 0;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        sum += in[i];
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) state[1 + blockIdx.x] = sum;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        ticket = atomicInc(reinterpret_cast<unsigned int*>(state), gridDim.x - 1);
        __threadfence();
    }
    __syncthreads();
    __threadfence();
    if (ticket != gridDim.x - 1) return;

    if (threadIdx.x < 32) {
        sum = 0;
        for (unsigned int b = threadIdx.x; b < gridDim.x; b += 32) sum += state[1 + b];
        sum = __reduce_add_sync(0xffffffff, sum);
        if (threadIdx.x == 0) *out = sum;
    }
}
