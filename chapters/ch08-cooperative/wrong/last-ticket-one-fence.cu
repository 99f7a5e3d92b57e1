// A mistake: the reads are volatile, and no fence keeps them behind the ticket.

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
    __shared__ bool last;
    if (threadIdx.x == 0) {
        state[1 + blockIdx.x] = sum;
        __threadfence();
last = atomicAdd(&state[0], 1ull) == gridDim.x - 1;
}
    __syncthreads();
    if (last) {
        unsigned int total = 0;
volatile unsigned long long* left = state + 1;
for (unsigned int b = threadIdx.x; b < gridDim.x; b += blockDim.x) total += (unsigned int)left[b];
        total = block_sum(total);
        if (threadIdx.x == 0) {
            *out = total;
            atomicExch(&state[0], 0ull);
        }
    }
}
