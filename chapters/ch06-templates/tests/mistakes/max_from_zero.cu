// A mistake: the sum's 0 kept for a maximum. A thread without an element brings a 0
// that is not in the input, and where all elements are negative the 0 is the largest.

template <unsigned int B>
__device__ void max_from_zero(const int* in, int* out, unsigned int n) {
    constexpr unsigned int WARPS = B / 32;
    __shared__ int of_warps[WARPS];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (B * 2) + tid;

    // ANCHOR: mistake
    int value = i < n ? in[i] : 0;
    if (i + B < n) {
        value = max(value, in[i + B]);
    }
    // ANCHOR_END: mistake

    for (unsigned int offset = 16; offset > 0; offset /= 2) {
        value = max(value, __shfl_down_sync(0xffffffff, value, offset));
    }
    if (tid % 32 == 0) of_warps[tid / 32] = value;
    __syncthreads();
    if (tid >= 32) return;
    value = of_warps[tid % WARPS];
    for (unsigned int offset = WARPS / 2; offset > 0; offset /= 2) {
        value = max(value, __shfl_down_sync(0xffffffff, value, offset));
    }
    if (tid == 0) out[blockIdx.x] = value;
}

extern "C" __global__ void max_from_zero_max_i32(const int* in, int* out, unsigned int n) {
    max_from_zero<256>(in, out, n);
}
