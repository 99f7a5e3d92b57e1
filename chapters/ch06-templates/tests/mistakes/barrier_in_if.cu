// A mistake: each step of the chain has its barrier inside the if, where only the
// threads that add come by. As long as the others have nothing left but to end, nobody
// waits for them. Here all threads of the block need the sum, and meet once more.

template <unsigned int S>
__device__ unsigned int warp_round(unsigned int value, unsigned int* mine) {
    value += mine[S];
    __syncwarp();
    mine[0] = value;
    __syncwarp();
    return value;
}

template <unsigned int B, bool FOR_ALL>
__device__ void barrier_in_if(const unsigned int* in, unsigned int* out, unsigned int n) {
    __shared__ unsigned int values[B];
    unsigned int tid = threadIdx.x;
    unsigned int* mine = values + tid;
    unsigned int i = blockIdx.x * (B * 2) + tid;
    mine[0] = (i < n ? in[i] : 0) + (i + B < n ? in[i + B] : 0);
    __syncthreads();

    // ANCHOR: mistake
    if constexpr (B >= 256) {
        if (tid < 128) {
            mine[0] += mine[128];
            __syncthreads();
        }
    }
    if constexpr (B >= 128) {
        if (tid < 64) {
            mine[0] += mine[64];
            __syncthreads();
        }
    }
    // ANCHOR_END: mistake

    if (tid < 32) {
        unsigned int value = warp_round<32>(mine[0], mine);
        value = warp_round<16>(value, mine);
        value = warp_round<8>(value, mine);
        value = warp_round<4>(value, mine);
        value = warp_round<2>(value, mine);
        value += mine[1];
        if (tid == 0) mine[0] = value;
    }
    if constexpr (FOR_ALL) {
        // ANCHOR: for_all
        __syncthreads();
        unsigned int sum = values[0]; // for every thread of the block
        // ANCHOR_END: for_all
        if (tid == B - 1) out[blockIdx.x] = sum;
    } else {
        if (tid == 0) out[blockIdx.x] = mine[0];
    }
}

extern "C" __global__ void barrier_in_if_i32(const unsigned int* in, unsigned int* out, unsigned int n) {
    barrier_in_if<256, true>(in, out, n);
}
extern "C" __global__ void as_printed_i32(const unsigned int* in, unsigned int* out, unsigned int n) {
    barrier_in_if<256, false>(in, out, n);
}
