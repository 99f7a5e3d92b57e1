// Chapter 8: one launch.
//
// Idea.   Blocks cannot wait for each other at a barrier, so chapters 1 to 7 end with a
//         second launch. But they can leave messages in memory. Here the blocks of one
//         launch bring their sums together: by a grid-wide barrier, or by a ticket that
//         tells the last block that it is the last.
// Limit.  A ticket takes three trips to memory, one after the other: the value and its
//         fence, the ticket, the values. The champion (ch08-champion.cu) takes one.
// Worked. 2^20 ints are 4 MiB. At 4,500 GB/s they take 0.93 us to read. A second launch
//         that waits for the one before costs about 1.1 us on an H200, which is more.

#include <cooperative_groups.h>

constexpr unsigned int WARP = 32;
constexpr unsigned int MAX_WARPS = 32; // of a block, on every card so far

// ANCHOR: operators
// What is computed, and the value that changes nothing. (One exception: -0.0 + 0.0 is 0.0,
// which is equal; only -0.0 would keep that sign.) min and max of floats pass a NaN over, so
// that NaN is their identity: an infinity would win where all numbers are NaN.
struct Sum {
    template <typename T> static __device__ T identity() { return T(0); }
    template <typename T> static __device__ T of(T a, T b) { return a + b; }
    static __device__ unsigned int of_warp(unsigned int value) { return __reduce_add_sync(0xffffffff, value); }
};
struct Min {
    template <typename T> static __device__ T identity();
    template <typename T> static __device__ T of(T a, T b) { return min(a, b); }
    static __device__ int of_warp(int value) { return __reduce_min_sync(0xffffffff, value); }
};
struct Max {
    template <typename T> static __device__ T identity();
    template <typename T> static __device__ T of(T a, T b) { return max(a, b); }
    static __device__ int of_warp(int value) { return __reduce_max_sync(0xffffffff, value); }
};
template <> __device__ int Min::identity<int>() { return 0x7fffffff; }
template <> __device__ int Max::identity<int>() { return -0x7fffffff - 1; }
template <> __device__ float Min::identity<float>() { return __int_as_float(0x7fffffff); } // NaN
template <> __device__ float Max::identity<float>() { return __int_as_float(0x7fffffff); }
// ANCHOR_END: operators

// ANCHOR: warp
// One value of a warp from its 32, in every lane. Integers have an instruction for it,
// redux.sync; the sum of floats has none.
template <typename Op, typename T>
__device__ T warp_reduce(T value) {
    for (unsigned int offset = WARP / 2; offset > 0; offset /= 2) {
        value = Op::of(value, __shfl_xor_sync(0xffffffff, value, offset));
    }
    return value;
}
template <typename Op>
__device__ int warp_reduce(int value) {
    return Op::of_warp(value);
}
template <typename Op>
__device__ unsigned int warp_reduce(unsigned int value) {
    return Op::of_warp(value);
}
// ANCHOR_END: warp

// ANCHOR: block
// One value of a block, right in warp 0: each warp leaves one value, and warp 0 reduces
// those. A block that does so twice needs a barrier in between.
template <typename Op, typename T>
__device__ T block_reduce(T value) {
    __shared__ T of_warps[MAX_WARPS];
    unsigned int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    value = warp_reduce<Op>(value);
    if (lane == 0) of_warps[warp] = value;
    __syncthreads();
    if (warp == 0) {
        value = lane < blockDim.x / WARP ? of_warps[lane] : Op::template identity<T>();
        value = warp_reduce<Op>(value);
    }
    return value;
}
// ANCHOR_END: block

// ANCHOR: stride
// A block's share of the input: every thread strides by the threads of the whole grid, and
// has eight loads in flight before it needs the first.
template <typename Op, typename T>
__device__ T reduce_share(const T* in, unsigned int n) {
    constexpr unsigned int TOGETHER = 8;
    T value = Op::template identity<T>();
    unsigned long long stride = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
    unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + (TOGETHER - 1) * stride < n; i += TOGETHER * stride) {
        T loaded[TOGETHER];
        for (unsigned int k = 0; k < TOGETHER; k++) loaded[k] = in[i + k * stride];
        for (unsigned int k = 0; k < TOGETHER; k++) value = Op::of(value, loaded[k]);
    }
    for (; i < n; i += stride) value = Op::of(value, in[i]);
    return block_reduce<Op>(value);
}
// ANCHOR_END: stride

// ANCHOR: redux
// Chapter 7's two launches with the warp's own instruction: the second launch reduces
// what the blocks of the first left in out.
template <typename Op, typename T>
__device__ void redux(const T* in, T* out, unsigned int n) {
    T value = reduce_share<Op>(in, n);
    if (threadIdx.x == 0) out[blockIdx.x] = value;
}
// ANCHOR_END: redux

// ANCHOR: grid_sync
// One cooperative launch. All blocks are on the card at the same time, so they may wait
// for each other: after grid.sync() every block's value is in memory for block 0 to read.
template <typename Op, typename T>
__device__ void grid_sync(const T* in, T* out, unsigned int n, T* of_blocks) {
    T value = reduce_share<Op>(in, n);
    if (threadIdx.x == 0) of_blocks[blockIdx.x] = value;
    cooperative_groups::this_grid().sync();
    if (blockIdx.x == 0) {
        value = Op::template identity<T>();
        for (unsigned int b = threadIdx.x; b < gridDim.x; b += blockDim.x) {
            value = Op::of(value, of_blocks[b]);
        }
        value = block_reduce<Op>(value);
        if (threadIdx.x == 0) *out = value;
    }
}
// ANCHOR_END: grid_sync

// ANCHOR: last_block
// One plain launch. A block writes its value, makes it visible (fence), and takes a
// ticket. Whoever takes the last ticket knows that all values are there and reduces them.
// atomicInc wraps to 0 at the last ticket, so the counter is ready for the next launch.
// The counter is an argument: two streams with a counter each do not disturb each other.
template <typename Op, typename T>
__device__ void last_block(const T* in, T* out, unsigned int n, T* of_blocks, unsigned int* tickets) {
    __shared__ bool is_last;
    T value = reduce_share<Op>(in, n);
    if (threadIdx.x == 0) {
        of_blocks[blockIdx.x] = value;
        __threadfence(); // the value is seen by whoever sees the ticket taken
        is_last = atomicInc(tickets, gridDim.x - 1) == gridDim.x - 1;
        __threadfence(); // and no value is read before it: the barrier hands this on to the block
    }
    __syncthreads();
    if (is_last) {
        value = Op::template identity<T>();
        for (unsigned int b = threadIdx.x; b < gridDim.x; b += blockDim.x) {
            value = Op::of(value, of_blocks[b]);
        }
        value = block_reduce<Op>(value);
        if (threadIdx.x == 0) *out = value;
    }
}
// ANCHOR_END: last_block

// ANCHOR: entries
// C names, so that a host program finds each instance by the name the reader sees. An array
// of int is summed as unsigned int: the same 32 bits, and unsigned addition wraps where that
// of int would be undefined.
extern "C" __global__ void redux_i32(const unsigned int* in, unsigned int* out, unsigned int n) {
    redux<Sum>(in, out, n);
}
extern "C" __global__ void grid_sync_i32(const unsigned int* in, unsigned int* out, unsigned int n,
                                         unsigned int* of_blocks) {
    grid_sync<Sum>(in, out, n, of_blocks);
}
extern "C" __global__ void last_block_i32(const unsigned int* in, unsigned int* out, unsigned int n, unsigned int* of_blocks,
                                          unsigned int* tickets) {
    last_block<Sum>(in, out, n, of_blocks, tickets);
}
extern "C" __global__ void redux_f32(const float* in, float* out, unsigned int n) {
    redux<Sum>(in, out, n);
}
extern "C" __global__ void grid_sync_f32(const float* in, float* out, unsigned int n, float* of_blocks) {
    grid_sync<Sum>(in, out, n, of_blocks);
}
extern "C" __global__ void last_block_f32(const float* in, float* out, unsigned int n, float* of_blocks,
                                          unsigned int* tickets) {
    last_block<Sum>(in, out, n, of_blocks, tickets);
}
extern "C" __global__ void redux_min_i32(const int* in, int* out, unsigned int n) {
    redux<Min>(in, out, n);
}
extern "C" __global__ void grid_sync_min_i32(const int* in, int* out, unsigned int n, int* of_blocks) {
    grid_sync<Min>(in, out, n, of_blocks);
}
extern "C" __global__ void last_block_min_i32(const int* in, int* out, unsigned int n, int* of_blocks,
                                          unsigned int* tickets) {
    last_block<Min>(in, out, n, of_blocks, tickets);
}
extern "C" __global__ void redux_min_f32(const float* in, float* out, unsigned int n) {
    redux<Min>(in, out, n);
}
extern "C" __global__ void grid_sync_min_f32(const float* in, float* out, unsigned int n, float* of_blocks) {
    grid_sync<Min>(in, out, n, of_blocks);
}
extern "C" __global__ void last_block_min_f32(const float* in, float* out, unsigned int n, float* of_blocks,
                                          unsigned int* tickets) {
    last_block<Min>(in, out, n, of_blocks, tickets);
}
extern "C" __global__ void redux_max_i32(const int* in, int* out, unsigned int n) {
    redux<Max>(in, out, n);
}
extern "C" __global__ void grid_sync_max_i32(const int* in, int* out, unsigned int n, int* of_blocks) {
    grid_sync<Max>(in, out, n, of_blocks);
}
extern "C" __global__ void last_block_max_i32(const int* in, int* out, unsigned int n, int* of_blocks,
                                          unsigned int* tickets) {
    last_block<Max>(in, out, n, of_blocks, tickets);
}
extern "C" __global__ void redux_max_f32(const float* in, float* out, unsigned int n) {
    redux<Max>(in, out, n);
}
extern "C" __global__ void grid_sync_max_f32(const float* in, float* out, unsigned int n, float* of_blocks) {
    grid_sync<Max>(in, out, n, of_blocks);
}
extern "C" __global__ void last_block_max_f32(const float* in, float* out, unsigned int n, float* of_blocks,
                                          unsigned int* tickets) {
    last_block<Max>(in, out, n, of_blocks, tickets);
}
// ANCHOR_END: entries
