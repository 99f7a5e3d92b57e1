// A mistake: the operation is a macro. A macro pastes its arguments as text, and here
// one of them is a shuffle: it stands twice in what the compiler reads, the second time
// where only the lanes go that found the first one larger.

// ANCHOR: mistake
#define MAX(a, b) ((a) > (b) ? (a) : (b))
// ANCHOR_END: mistake

template <unsigned int B>
__device__ void macro_max(const int* in, int* out, unsigned int n) {
    constexpr unsigned int WARPS = B / 32;
    constexpr int NOTHING = -0x7fffffff - 1;
    __shared__ int of_warps[WARPS];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (B * 2) + tid;
    int value = i < n ? in[i] : NOTHING;
    if (i + B < n) {
        value = MAX(value, in[i + B]);
    }

    // ANCHOR: use
    for (unsigned int offset = 16; offset > 0; offset /= 2) {
        value = MAX(value, __shfl_down_sync(0xffffffff, value, offset));
    }
    // ANCHOR_END: use
    if (tid % 32 == 0) of_warps[tid / 32] = value;
    __syncthreads();
    if (tid >= 32) return;
    value = tid < WARPS ? of_warps[tid] : NOTHING;
    for (unsigned int offset = WARPS / 2; offset > 0; offset /= 2) {
        value = MAX(value, __shfl_down_sync(0xffffffff, value, offset));
    }
    if (tid == 0) out[blockIdx.x] = value;
}

extern "C" __global__ void macro_max_max_i32(const int* in, int* out, unsigned int n) {
    macro_max<256>(in, out, n);
}
