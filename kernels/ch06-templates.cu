// Chapter 6: templates.
//
// Idea.   The block size B is a template argument, so the compiler knows it. It leaves
//         out the rounds that B does not have and writes out the others: no loop, no
//         stride to compute, every address a constant away from one register. What is
//         computed is a template argument too: a sum, the smallest or the largest.
// Limit.  Every thread still loads two elements and no more. A block begins, waits for
//         its loads, does its rounds and ends, once for every 2 * B elements.
// Worked. B = 256, 512 elements. template_shuffle: each of 8 warps does 5 rounds from
//         register to register and leaves one value, warp 0 does 3 rounds more with
//         those. 8 * 5 + 3 = 43 shuffles, 8 values in shared memory, one barrier.

// ANCHOR: operators
// What is computed: how two values become one, and the value that changes no other. (One
// exception: -0.0 + 0.0 is 0.0, which is equal. Only -0.0 would keep that sign.)
struct Sum {
    template <typename T>
    static __device__ T join(T a, T b) { return a + b; }
    template <typename T>
    static __device__ T identity() { return T(0); }
};
struct Min {
    template <typename T>
    static __device__ T join(T a, T b) { return min(a, b); }
    template <typename T>
    static __device__ T identity() { return __int_as_float(0x7fffffff); } // a NaN
};
struct Max {
    template <typename T>
    static __device__ T join(T a, T b) { return max(a, b); }
    template <typename T>
    static __device__ T identity() { return __int_as_float(0x7fffffff); }
};
template <> __device__ int Min::identity<int>() { return 0x7fffffff; }
template <> __device__ int Max::identity<int>() { return -0x7fffffff - 1; }
// ANCHOR_END: operators

// ANCHOR: load
// Two elements a thread, each with a test of its own: n is any number.
template <unsigned int B, typename Op, typename T>
__device__ T load_two(const T* in, unsigned int n) {
    unsigned int i = blockIdx.x * (B * 2) + threadIdx.x;
    T value = i < n ? in[i] : Op::template identity<T>();
    if (i + B < n) {
        value = Op::join(value, in[i + B]);
    }
    return value;
}
// ANCHOR_END: load

// ANCHOR: rounds
// Chapter 5's rounds, with S a constant: one of the whole block, one of its last warp.
// mine is a thread's own place in shared memory, so that mine[S] needs no index.
template <unsigned int S, typename Op, typename T>
__device__ void block_round(T* mine) {
    if (threadIdx.x < S) {
        mine[0] = Op::join(mine[0], mine[S]);
    }
    __syncthreads();
}

template <unsigned int S, typename Op, typename T>
__device__ T warp_round(T value, T* mine) {
    value = Op::join(value, mine[S]);
    __syncwarp();
    mine[0] = value;
    __syncwarp();
    return value;
}
// ANCHOR_END: rounds

// ANCHOR: unrolled
// Blocks of B threads: 32, 64, 128, 256, 512 or 1024. out gets one value a block.
template <unsigned int B, typename Op, typename T>
__device__ void template_unrolled(const T* in, T* out, unsigned int n) {
    // ANCHOR: shared
    // All 32 lanes of the last warp read up to 16 places past their own 32, and a
    // block of 32 has nothing there. 16 values that change no other stand in.
    __shared__ T values[B == 32 ? 48 : B];
    T* mine = values + threadIdx.x;
    mine[0] = load_two<B, Op>(in, n);
    if constexpr (B == 32) {
        if (threadIdx.x < 16) mine[32] = Op::template identity<T>();
    }
    __syncthreads();
    // ANCHOR_END: shared

    // ANCHOR: chain
    if constexpr (B >= 1024) block_round<512, Op>(mine);
    if constexpr (B >= 512) block_round<256, Op>(mine);
    if constexpr (B >= 256) block_round<128, Op>(mine);
    if constexpr (B >= 128) block_round<64, Op>(mine);
    // ANCHOR_END: chain

    if (threadIdx.x < 32) {
        T value = mine[0];
        if constexpr (B >= 64) value = warp_round<32, Op>(value, mine);
        value = warp_round<16, Op>(value, mine);
        value = warp_round<8, Op>(value, mine);
        value = warp_round<4, Op>(value, mine);
        value = warp_round<2, Op>(value, mine);
        value = Op::join(value, mine[1]);
        if (threadIdx.x == 0) out[blockIdx.x] = value;
    }
}
// ANCHOR_END: unrolled

// ANCHOR: shuffle
// From register to register: lane 0 gets the value of the first LANES lanes.
template <unsigned int LANES, typename Op, typename T>
__device__ T warp_reduce(T value) {
    for (unsigned int offset = LANES / 2; offset > 0; offset /= 2) {
        value = Op::join(value, __shfl_down_sync(0xffffffff, value, offset));
    }
    return value;
}

// The same blocks. Each warp reduces its own 32 values, then warp 0 the warps' values.
template <unsigned int B, typename Op, typename T>
__device__ void template_shuffle(const T* in, T* out, unsigned int n) {
    constexpr unsigned int WARPS = B / 32;
    unsigned int tid = threadIdx.x;
    T value = warp_reduce<32, Op>(load_two<B, Op>(in, n));

    if constexpr (WARPS > 1) {
        __shared__ T of_warps[WARPS];
        if (tid % 32 == 0) of_warps[tid / 32] = value;
        __syncthreads();
        if (tid >= 32) return; // nothing that follows waits for these
        value = tid < WARPS ? of_warps[tid] : Op::template identity<T>();
        value = warp_reduce<WARPS, Op>(value);
    }
    if (tid == 0) out[blockIdx.x] = value;
}
// ANCHOR_END: shuffle

// ANCHOR: entries
// C names, so that a host program finds each instance by the name the reader sees:
// ENTRY writes out one of them, INSTANCES the nine of one kernel and one block size.
// Sums of int are made in unsigned int, as in chapter 1. Their smallest and largest are
// not: 0xffffffff is the largest unsigned int, and as an int it is -1.
#define ENTRY(name, T, instance)                                            \
    extern "C" __global__ void name(const T* in, T* out, unsigned int n) {  \
        instance(in, out, n);                                               \
    }
#define INSTANCES(kernel, B)                                                \
    ENTRY(kernel##_b##B##_i32, unsigned int, (kernel<B, Sum>))              \
    ENTRY(kernel##_b##B##_f32, float, (kernel<B, Sum>))                     \
    ENTRY(kernel##_b##B##_f64, double, (kernel<B, Sum>))                    \
    ENTRY(kernel##_min_b##B##_i32, int, (kernel<B, Min>))                   \
    ENTRY(kernel##_min_b##B##_f32, float, (kernel<B, Min>))                 \
    ENTRY(kernel##_min_b##B##_f64, double, (kernel<B, Min>))                \
    ENTRY(kernel##_max_b##B##_i32, int, (kernel<B, Max>))                   \
    ENTRY(kernel##_max_b##B##_f32, float, (kernel<B, Max>))                 \
    ENTRY(kernel##_max_b##B##_f64, double, (kernel<B, Max>))

INSTANCES(template_unrolled, 32)
INSTANCES(template_unrolled, 64)
INSTANCES(template_unrolled, 128)
INSTANCES(template_unrolled, 256)
INSTANCES(template_unrolled, 512)
INSTANCES(template_unrolled, 1024)

INSTANCES(template_shuffle, 32)
INSTANCES(template_shuffle, 64)
INSTANCES(template_shuffle, 128)
INSTANCES(template_shuffle, 256)
INSTANCES(template_shuffle, 512)
INSTANCES(template_shuffle, 1024)
// ANCHOR_END: entries
