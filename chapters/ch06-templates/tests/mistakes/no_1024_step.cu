// A mistake: the chain begins with the step for 512 threads, because no card had larger
// blocks when it was written. A block of 1,024 starts with values[0..512] as if the
// other half were not there.

template <unsigned int S>
__device__ void block_round(unsigned int* mine) {
    if (threadIdx.x < S) {
        mine[0] += mine[S];
    }
    __syncthreads();
}

template <unsigned int S>
__device__ unsigned int warp_round(unsigned int value, unsigned int* mine) {
    value += mine[S];
    __syncwarp();
    mine[0] = value;
    __syncwarp();
    return value;
}

template <unsigned int B>
__device__ void no_1024_step(const unsigned int* in, unsigned int* out, unsigned int n) {
    __shared__ unsigned int values[B];
    unsigned int* mine = values + threadIdx.x;
    unsigned int i = blockIdx.x * (B * 2) + threadIdx.x;
    mine[0] = (i < n ? in[i] : 0) + (i + B < n ? in[i + B] : 0);
    __syncthreads();

    // ANCHOR: mistake
    if constexpr (B >= 512) block_round<256>(mine);
    if constexpr (B >= 256) block_round<128>(mine);
    if constexpr (B >= 128) block_round<64>(mine);
    // ANCHOR_END: mistake

    if (threadIdx.x < 32) {
        unsigned int value = warp_round<32>(mine[0], mine);
        value = warp_round<16>(value, mine);
        value = warp_round<8>(value, mine);
        value = warp_round<4>(value, mine);
        value = warp_round<2>(value, mine);
        value += mine[1];
        if (threadIdx.x == 0) out[blockIdx.x] = value;
    }
}

extern "C" __global__ void no_1024_step_b1024_i32(const unsigned int* in, unsigned int* out, unsigned int n) {
    no_1024_step<1024>(in, out, n);
}
extern "C" __global__ void no_1024_step_b512_i32(const unsigned int* in, unsigned int* out, unsigned int n) {
    no_1024_step<512>(in, out, n);
}
