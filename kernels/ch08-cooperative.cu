// Chapter 8: one launch.
//
// Idea.   Blocks cannot wait for each other at a barrier, so chapters 1 to 7 end with a
//         second launch. But they can leave messages in memory. Here the blocks of one
//         launch bring their sums together: by a grid-wide barrier, by a ticket that
//         tells the last block that it is the last, or by a flag and a value in one word.
// Limit.  What is left is the launch itself, one trip to memory for the first data, one
//         for the last message, and for large arrays the memory's bandwidth.
// Worked. 2^20 ints are 4 MiB. At 4,500 GB/s they take 0.93 us to read. A launch takes
//         0.65 us, and a second one as much again: two thirds of the time of the sum.

#include <cooperative_groups.h>

constexpr unsigned int WARP = 32;
constexpr unsigned int MAX_WARPS = 32; // of a block, on every card so far
constexpr unsigned int LINE_BYTES = 128; // of the caches

// ANCHOR: operators
// What is computed, and the value that changes nothing. min and max of floats pass a NaN
// over, so that NaN is their identity: an infinity would win where all numbers are NaN.
struct Sum {
    template <typename T> static __device__ T identity() { return T(0); }
    template <typename T> static __device__ T of(T a, T b) { return a + b; }
    static __device__ int of_warp(int value) { return __reduce_add_sync(0xffffffff, value); }
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
// redux.sync. The sum of floats has none on any card, because (a + b) + c is not
// a + (b + c) for them, and an instruction would have to promise an order.
// Only the first LANES lanes need to hold anything.
template <typename Op, unsigned int LANES = WARP, typename T>
__device__ T warp_reduce(T value) {
    for (unsigned int offset = LANES / 2; offset > 0; offset /= 2) {
        value = Op::of(value, __shfl_xor_sync(0xffffffff, value, offset));
    }
    return value;
}
template <typename Op, unsigned int LANES = WARP>
__device__ int warp_reduce(int value) {
    return Op::of_warp(value);
}
// ANCHOR_END: warp

// ANCHOR: block
// One value of a block, right in warp 0: each warp leaves one value, and warp 0 reduces
// those. Each CALL has an array of its own; a block that makes the same call twice needs a
// barrier in between.
template <typename Op, unsigned int WARPS = MAX_WARPS, int CALL = 0, typename T>
__device__ T block_reduce(T value) {
    __shared__ T of_warps[MAX_WARPS];
    unsigned int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    value = warp_reduce<Op>(value);
    if (lane == 0) of_warps[warp] = value;
    __syncthreads();
    if (warp == 0) {
        value = lane < blockDim.x / WARP ? of_warps[lane] : Op::template identity<T>();
        value = warp_reduce<Op, WARPS>(value);
    }
    return value;
}
// ANCHOR_END: block

// ANCHOR: stride
// A block's share of the input: every thread strides by the threads of the whole grid, and
// has eight loads on their way before it needs the first.
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
    }
    __syncthreads();
    if (is_last) {
        __threadfence(); // and nothing below is read before it
        value = Op::template identity<T>();
        for (unsigned int b = threadIdx.x; b < gridDim.x; b += blockDim.x) {
            value = Op::of(value, of_blocks[b]);
        }
        value = block_reduce<Op>(value);
        if (threadIdx.x == 0) *out = value;
    }
}
// ANCHOR_END: last_block

// ---- single_pass: the champion -----------------------------------------------------

// ANCHOR: vectors
// 16 bytes of input, read once and by nobody else, so not worth a place in L1.
__device__ uint4 load_once(const uint4* address) {
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(address));
    return v;
}
__device__ int sum_of(uint4 v, int) { return (v.x + v.y) + (v.z + v.w); }
__device__ float sum_of(uint4 v, float) {
    return (__uint_as_float(v.x) + __uint_as_float(v.y)) +
           (__uint_as_float(v.z) + __uint_as_float(v.w));
}
__device__ double sum_of(uint4 v, double) {
    return __hiloint2double(v.y, v.x) + __hiloint2double(v.w, v.z);
}
// ANCHOR_END: vectors

// ANCHOR: overlap
// On compute capability 9.0 a launch may begin while the one before it ends. Then this
// kernel lets the next one begin, asks for its first data to come to L2, which changes no
// value, and only then waits until everything before it is done and visible.
template <unsigned int UNROLL>
__device__ void wait_for_launch_before(const uint4* body, unsigned int i, unsigned int step,
                                       unsigned int vectors, unsigned int ahead) {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
    for (unsigned int k = 0; k < UNROLL; k++) {
        // One of two vectors: a sector has both.
        if (k < ahead && i + k * step < vectors && threadIdx.x % 2 == 0) {
            asm volatile("prefetch.global.L2 [%0];" :: "l"(body + i + k * step));
        }
    }
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
// ANCHOR_END: overlap

// ANCHOR: tiles
// UNROLL vectors at once, step apart, all of them on their way before the first is added.
template <typename T, unsigned int BLOCK, unsigned int UNROLL>
__device__ T sum_vectors(const uint4* body, unsigned int i, unsigned int step, unsigned int vectors) {
    T sum = 0;
    for (; i < vectors; i += gridDim.x * BLOCK * UNROLL) {
        uint4 v[UNROLL];
        if (i + (UNROLL - 1) * step < vectors) {
            for (unsigned int k = 0; k < UNROLL; k++) v[k] = load_once(body + i + k * step);
        } else {
            for (unsigned int k = 0; k < UNROLL; k++) {
                v[k] = i + k * step < vectors ? load_once(body + i + k * step) : make_uint4(0, 0, 0, 0);
            }
        }
        for (unsigned int k = 0; k < UNROLL; k++) sum += sum_of(v[k], T());
    }
    return sum;
}

// A thread's share of the input. A block's vectors lie together in one tile, or, spread, as
// far apart as the grid is wide, which gives every block of a small input the same to do.
// Elements before the first cache line and after the last vector are few; the last block
// takes them, one a thread. Vectors need 16 bytes of alignment and no more; from the start
// of a line on, a warp's 512 bytes are four lines and not five.
template <typename T, unsigned int BLOCK, unsigned int UNROLL>
__device__ T sum_share(const T* in, unsigned int n, unsigned int spread, unsigned int ahead) {
    constexpr unsigned int PER_VECTOR = sizeof(uint4) / sizeof(T), PER_LINE = LINE_BYTES / sizeof(T);
    unsigned int past = reinterpret_cast<unsigned long long>(in) % LINE_BYTES / sizeof(T);
    unsigned int head = min(n, (PER_LINE - past) % PER_LINE);
    unsigned int vectors = (n - head) / PER_VECTOR, tail = (n - head) % PER_VECTOR;
    const uint4* body = reinterpret_cast<const uint4*>(in + head);

    unsigned int wide = gridDim.x * BLOCK;
    unsigned int i = blockIdx.x * (spread ? BLOCK : BLOCK * UNROLL) + threadIdx.x;
    wait_for_launch_before<UNROLL>(body, i, spread ? wide : BLOCK, vectors, ahead);

    // One tile has a constant for a step: its addresses need no arithmetic.
    T sum = spread ? sum_vectors<T, BLOCK, UNROLL>(body, i, wide, vectors)
                   : sum_vectors<T, BLOCK, UNROLL>(body, i, BLOCK, vectors);
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x < head + tail) {
        sum += in[threadIdx.x < head ? threadIdx.x : n - tail + threadIdx.x - head];
    }
    return sum;
}
// ANCHOR_END: tiles

// ANCHOR: packed
// Clears a slot, two words, for the next launch. As strong as the message that it follows,
// so that the two have an order.
__device__ void put_back(unsigned long long* slot) {
    asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %1};" :: "l"(slot), "l"(0ull) : "memory");
}

// Integers: one atomic addition a block carries its sum and counts it. The upper 16 bits
// of the word count blocks, the lower 48 hold the sum of up to 65,535 values below 2^32,
// of which the answer keeps 32 bits. What the addition returns tells the last block that
// it is the last, and the total, without another read.
template <unsigned int BLOCK>
__device__ void meet(int sum, int* out, unsigned long long* state) {
    sum = block_reduce<Sum>(sum);
    if (threadIdx.x != 0) return;
    if (gridDim.x == 1) {
        *out = sum;
        return;
    }
    unsigned long long message = (1ull << 48) | static_cast<unsigned int>(sum);
    unsigned long long before = atomicAdd(state, message);
    if (before >> 48 == gridDim.x - 1) {
        put_back(state);
        *out = static_cast<int>(before + message);
    }
}
// ANCHOR_END: packed

// ANCHOR: flags
// Floats: their sum depends on the order, so block 0 adds the blocks' sums by number,
// whenever each comes. A message is one word of 64 bits, flag and value together: who sees
// the flag has the value, and no fence is needed. A double takes two such words.
constexpr unsigned long long READY = 1ull << 32;

__device__ void send(unsigned long long* slot, float value) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;"
                 :: "l"(slot), "l"(READY | __float_as_uint(value)) : "memory");
}
__device__ void send(unsigned long long* slot, double value) {
    unsigned long long bits = __double_as_longlong(value);
    asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};"
                 :: "l"(slot), "l"(READY | (bits & 0xffffffff)), "l"(READY | (bits >> 32)) : "memory");
}
struct FloatMessage {
    unsigned long long word;
    __device__ void look(unsigned long long* slot) {
        asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(slot) : "memory");
    }
    __device__ bool ready() { return word & READY; }
    __device__ float value() { return __uint_as_float(static_cast<unsigned int>(word)); }
};
struct DoubleMessage {
    unsigned long long low, high;
    __device__ void look(unsigned long long* slot) {
        asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                     : "=l"(low), "=l"(high) : "l"(slot) : "memory");
    }
    __device__ bool ready() { return low & high & READY; }
    __device__ double value() { return __longlong_as_double((low & 0xffffffff) | (high << 32)); }
};
template <typename T> struct MessageOf { using type = FloatMessage; };
template <> struct MessageOf<double> { using type = DoubleMessage; };

// Waits for the messages of blocks first, first + stride, ... and adds them in that order.
// Two are looked at together. Both looks are always made, at the same slot if there is only
// one, because the compiler puts a look that depends on a condition behind the one before.
template <typename T>
__device__ T receive(unsigned long long* slots, unsigned int first, unsigned int stride) {
    typename MessageOf<T>::type message, other;
    T sum = 0;
    for (unsigned int b = first; b < gridDim.x; b += 2 * stride) {
        bool two = b + stride < gridDim.x;
        do {
            message.look(slots + 2 * b);
            other.look(slots + 2 * (two ? b + stride : b));
        } while (!(message.ready() && other.ready()));
        sum += message.value();
        put_back(slots + 2 * b);
        if (two) {
            sum += other.value();
            put_back(slots + 2 * (b + stride));
        }
    }
    return sum;
}

template <unsigned int BLOCK, typename T>
__device__ void meet(T sum, T* out, unsigned long long* slots) {
    // Block 0 too: its own sum is ready before the messages of the others are.
    sum = block_reduce<Sum, BLOCK / WARP>(sum);
    if (blockIdx.x > 0) {
        if (threadIdx.x == 0) send(slots + 2 * blockIdx.x, sum);
        return;
    }
    if (gridDim.x > 1) {
        // As many warps as need one look for all messages: two messages a lane. Where one warp
        // is enough, nothing stands between the last message and the result but shuffles.
        unsigned int receivers = min(BLOCK, (gridDim.x - 1 + 2 * WARP - 1) / (2 * WARP) * WARP);
        T others = threadIdx.x < receivers ? receive<T>(slots, 1 + threadIdx.x, receivers) : T(0);
        if (receivers > WARP) {
            others = block_reduce<Sum, BLOCK / WARP, 1>(others);
        } else if (threadIdx.x < WARP) {
            others = warp_reduce<Sum>(others);
        }
        sum += others;
    }
    if (threadIdx.x == 0) *out = sum;
}
// ANCHOR_END: flags

// ANCHOR: single_pass
template <typename T, unsigned int BLOCK, unsigned int UNROLL>
__device__ void single_pass(const T* in, T* out, unsigned int n, unsigned long long* state,
                            unsigned int spread, unsigned int ahead) {
    meet<BLOCK>(sum_share<T, BLOCK, UNROLL>(in, n, spread, ahead), out, state);
}
// ANCHOR_END: single_pass

// ANCHOR: entries
// C names, so that a host program finds each instance by the name the reader sees. With few
// loads on their way 32 registers are enough, and the blocks of the next launch find room
// beside this one's: 2,048 threads on a multiprocessor.
extern "C" __global__ void redux_i32(const int* in, int* out, unsigned int n) {
    redux<Sum>(in, out, n);
}
extern "C" __global__ void grid_sync_i32(const int* in, int* out, unsigned int n, int* of_blocks) {
    grid_sync<Sum>(in, out, n, of_blocks);
}
extern "C" __global__ void last_block_i32(const int* in, int* out, unsigned int n, int* of_blocks,
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
extern "C" __global__ void __launch_bounds__(256, 8) single_pass_t256u2_i32(
    const int* in, int* out, unsigned int n, unsigned long long* state, unsigned int spread, unsigned int ahead) {
    single_pass<int, 256, 2>(in, out, n, state, spread, ahead);
}
extern "C" __global__ void __launch_bounds__(256, 8) single_pass_t256u2_f32(
    const float* in, float* out, unsigned int n, unsigned long long* state, unsigned int spread, unsigned int ahead) {
    single_pass<float, 256, 2>(in, out, n, state, spread, ahead);
}
extern "C" __global__ void __launch_bounds__(256, 8) single_pass_t256u2_f64(
    const double* in, double* out, unsigned int n, unsigned long long* state, unsigned int spread, unsigned int ahead) {
    single_pass<double, 256, 2>(in, out, n, state, spread, ahead);
}
extern "C" __global__ void __launch_bounds__(512, 4) single_pass_t512u2_i32(
    const int* in, int* out, unsigned int n, unsigned long long* state, unsigned int spread, unsigned int ahead) {
    single_pass<int, 512, 2>(in, out, n, state, spread, ahead);
}
extern "C" __global__ void __launch_bounds__(512, 4) single_pass_t512u2_f32(
    const float* in, float* out, unsigned int n, unsigned long long* state, unsigned int spread, unsigned int ahead) {
    single_pass<float, 512, 2>(in, out, n, state, spread, ahead);
}
extern "C" __global__ void __launch_bounds__(512, 4) single_pass_t512u2_f64(
    const double* in, double* out, unsigned int n, unsigned long long* state, unsigned int spread, unsigned int ahead) {
    single_pass<double, 512, 2>(in, out, n, state, spread, ahead);
}
extern "C" __global__ void __launch_bounds__(512) single_pass_t512u8_i32(
    const int* in, int* out, unsigned int n, unsigned long long* state, unsigned int spread, unsigned int ahead) {
    single_pass<int, 512, 8>(in, out, n, state, spread, ahead);
}
extern "C" __global__ void __launch_bounds__(512) single_pass_t512u8_f32(
    const float* in, float* out, unsigned int n, unsigned long long* state, unsigned int spread, unsigned int ahead) {
    single_pass<float, 512, 8>(in, out, n, state, spread, ahead);
}
extern "C" __global__ void __launch_bounds__(512) single_pass_t512u8_f64(
    const double* in, double* out, unsigned int n, unsigned long long* state, unsigned int spread, unsigned int ahead) {
    single_pass<double, 512, 8>(in, out, n, state, spread, ahead);
}
extern "C" __global__ void __launch_bounds__(1024, 2) single_pass_t1024u2_i32(
    const int* in, int* out, unsigned int n, unsigned long long* state, unsigned int spread, unsigned int ahead) {
    single_pass<int, 1024, 2>(in, out, n, state, spread, ahead);
}
extern "C" __global__ void __launch_bounds__(1024, 2) single_pass_t1024u2_f32(
    const float* in, float* out, unsigned int n, unsigned long long* state, unsigned int spread, unsigned int ahead) {
    single_pass<float, 1024, 2>(in, out, n, state, spread, ahead);
}
extern "C" __global__ void __launch_bounds__(1024, 2) single_pass_t1024u2_f64(
    const double* in, double* out, unsigned int n, unsigned long long* state, unsigned int spread, unsigned int ahead) {
    single_pass<double, 1024, 2>(in, out, n, state, spread, ahead);
}
extern "C" __global__ void __launch_bounds__(1024, 2) single_pass_t1024u4_i32(
    const int* in, int* out, unsigned int n, unsigned long long* state, unsigned int spread, unsigned int ahead) {
    single_pass<int, 1024, 4>(in, out, n, state, spread, ahead);
}
extern "C" __global__ void __launch_bounds__(1024, 2) single_pass_t1024u4_f32(
    const float* in, float* out, unsigned int n, unsigned long long* state, unsigned int spread, unsigned int ahead) {
    single_pass<float, 1024, 4>(in, out, n, state, spread, ahead);
}
extern "C" __global__ void __launch_bounds__(1024, 2) single_pass_t1024u4_f64(
    const double* in, double* out, unsigned int n, unsigned long long* state, unsigned int spread, unsigned int ahead) {
    single_pass<double, 1024, 4>(in, out, n, state, spread, ahead);
}
extern "C" __global__ void __launch_bounds__(1024) single_pass_t1024u8_i32(
    const int* in, int* out, unsigned int n, unsigned long long* state, unsigned int spread, unsigned int ahead) {
    single_pass<int, 1024, 8>(in, out, n, state, spread, ahead);
}
extern "C" __global__ void __launch_bounds__(1024) single_pass_t1024u8_f32(
    const float* in, float* out, unsigned int n, unsigned long long* state, unsigned int spread, unsigned int ahead) {
    single_pass<float, 1024, 8>(in, out, n, state, spread, ahead);
}
extern "C" __global__ void __launch_bounds__(1024) single_pass_t1024u8_f64(
    const double* in, double* out, unsigned int n, unsigned long long* state, unsigned int spread, unsigned int ahead) {
    single_pass<double, 1024, 8>(in, out, n, state, spread, ahead);
}
// ANCHOR_END: entries
