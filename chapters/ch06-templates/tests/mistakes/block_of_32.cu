// A mistake: the last warp of a block of 32, with as much shared memory as the block
// has threads. The round S = 32 is left out, as it should be. But in the round S = 16
// all 32 lanes read: lane 16 reads values[32], which does not exist.

template <unsigned int S>
__device__ unsigned int warp_round(unsigned int value, unsigned int* mine) {
    value += mine[S];
    __syncwarp();
    mine[0] = value;
    __syncwarp();
    return value;
}

template <unsigned int B>
__device__ void block_of_32(const unsigned int* in, unsigned int* out, unsigned int n) {
    // ANCHOR: mistake
    __shared__ unsigned int values[B];
    unsigned int* mine = values + threadIdx.x;
    // ANCHOR_END: mistake
    unsigned int i = blockIdx.x * (B * 2) + threadIdx.x;
    mine[0] = (i < n ? in[i] : 0) + (i + B < n ? in[i + B] : 0);
    __syncthreads();

    if (threadIdx.x < 32) {
        unsigned int value = mine[0];
        // ANCHOR: rounds
        if constexpr (B >= 64) value = warp_round<32>(value, mine);
        if constexpr (B >= 32) value = warp_round<16>(value, mine);
        // ANCHOR_END: rounds
        value = warp_round<8>(value, mine);
        value = warp_round<4>(value, mine);
        value = warp_round<2>(value, mine);
        value += mine[1];
        if (threadIdx.x == 0) out[blockIdx.x] = value;
    }
}

extern "C" __global__ void block_of_32_i32(const unsigned int* in, unsigned int* out, unsigned int n) {
    block_of_32<32>(in, out, n);
}
