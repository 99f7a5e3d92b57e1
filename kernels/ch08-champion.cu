// Chapter 8: one launch, one message. The champion.
//
// Idea.   The blocks of one launch bring their sums together by one message each, flag and
//         value in one word. What is left is to read: 16 bytes a load, as many loads in
//         flight as help, and as little code as possible in front of the first.
// Limit.  For large arrays the memory's bandwidth. A small sum cannot be shorter than a
//         launch, a trip to memory for the first data and one for the last message; on an
//         H200 it takes about twice that, and what the other half is has not been measured.
// Worked. 2^20 ints are 4 MiB. At 4,500 GB/s they take 0.93 us to read. A second launch
//         that waits for the first costs about 1.1 us on an H200, which is more.
// Target. compute_90, and compute_80 without launches that overlap.

constexpr unsigned int WARP = 32;
constexpr unsigned int LINE_BYTES = 128; // of the caches
constexpr unsigned int FULL = 0xffffffff; // all lanes of a warp

// ANCHOR: columns
// The sum of a warp's 32 values, in every lane.
template <unsigned int LANES = WARP, typename T>
__device__ T warp_sum(T value) {
    for (unsigned int offset = LANES / 2; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(FULL, value, offset);
    }
    return value;
}
template <unsigned int LANES = WARP>
__device__ unsigned int warp_sum(unsigned int value) {
    return __reduce_add_sync(FULL, value);
}

__device__ unsigned int sum_of(uint4 v, unsigned int) {
    return (v.x + v.y) + (v.z + v.w);
}
__device__ float sum_of(uint4 v, float) {
    return (__uint_as_float(v.x) + __uint_as_float(v.y)) +
           (__uint_as_float(v.z) + __uint_as_float(v.w));
}
__device__ double sum_of(uint4 v, double) {
    return __hiloint2double(v.y, v.x) + __hiloint2double(v.w, v.z);
}

// The sum of COUNT values in pairs of pairs. With eight values, three
// additions wait for each other, not seven.
template <unsigned int COUNT, typename T>
__device__ T sum_in_pairs(T (&values)[COUNT]) {
    for (unsigned int half = COUNT / 2; half > 0; half /= 2) {
        for (unsigned int k = 0; k < half; k++) values[k] += values[k + half];
    }
    return values[0];
}

// The sum of a block, in warp 0. Each CALL has shared memory of its own. For
// integers: one value from each warp, as redux.sync is quick.
template <unsigned int BLOCK, int CALL = 0, typename T>
__device__ T sum_of_warps(T value) {
    if (BLOCK == WARP) return warp_sum(value);
    __shared__ T of_warps[BLOCK / WARP];
    unsigned int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    value = warp_sum(value);
    if (lane == 0) of_warps[warp] = value;
    __syncthreads();
    return warp == 0 ? warp_sum(lane < BLOCK / WARP ? of_warps[lane] : T(0))
                     : T(0);
}
template <unsigned int BLOCK, int CALL = 0>
__device__ unsigned int block_sum(unsigned int value) {
    return sum_of_warps<BLOCK, CALL>(value);
}
// Floats would need five shuffles in every warp and up to five more. Here
// each thread leaves its value, and warp 0 adds columns of them by loads of
// 16 bytes: five shuffles in all.
template <unsigned int BLOCK, int CALL = 0, typename T>
__device__ T block_sum(T value) {
    if (BLOCK == WARP) return warp_sum(value);
    constexpr unsigned int VECTORS = BLOCK * sizeof(T) / sizeof(uint4);
    constexpr unsigned int COLUMN = VECTORS < WARP ? 1 : VECTORS / WARP;
    __shared__ uint4 of_threads[VECTORS];
    reinterpret_cast<T*>(of_threads)[threadIdx.x] = value;
    __syncthreads();
    if (threadIdx.x >= WARP) return value;
    // ANCHOR: column
    T sums[COLUMN];
    for (unsigned int k = 0; k < COLUMN; k++) {
        unsigned int i = threadIdx.x + k * WARP;
        sums[k] = i < VECTORS ? sum_of(of_threads[i], T()) : T(0);
    }
    return warp_sum(sum_in_pairs(sums));
    // ANCHOR_END: column
}
// ANCHOR_END: columns

// ANCHOR: vectors
// 16 bytes of input that are read only once, so not worth a place in L1. It
// does not use .nc, which is for data that is not written while this kernel
// lives. An overlapped kernel lives while the launch before it may still
// write its input.
template <bool HINT = true>
__device__ uint4 load_once(const uint4* address) {
    uint4 v;
    if (!HINT) { // for the table of what each idea is worth
        asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                     : "l"(address));
        return v;
    }
    asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(address));
    return v;
}
// ANCHOR_END: vectors

// ANCHOR: overlap
// On compute capability 9.0 a launch may begin while the one before it ends.
// This kernel first lets the next launch begin. Then it prefetches its first
// data into L2, which changes no value. Then it waits until everything before
// it is done and visible.
template <unsigned int UNROLL, typename Index>
__device__ void wait_for_launch_before(const uint4* body, Index i, Index step,
                                       Index vectors, unsigned int ahead) {
#if __CUDA_ARCH__ >= 900
    // ANCHOR: prefetch
    asm volatile("griddepcontrol.launch_dependents;");
    for (unsigned int k = 0; k < UNROLL; k++) {
        // Every second vector, as a sector has two.
        if (k < ahead && i + k * step < vectors && threadIdx.x % 2 == 0) {
            asm volatile("prefetch.global.L2 [%0];"
                         :: "l"(body + i + k * step));
        }
    }
    asm volatile("griddepcontrol.wait;" ::: "memory");
    // ANCHOR_END: prefetch
#endif
}
// ANCHOR_END: overlap

// ANCHOR: tiles
// UNROLL vectors at once, step apart, all of them in flight before the first
// is added.
template <typename T, unsigned int UNROLL, bool ALL, bool HINT,
          typename Index>
__device__ T sum_tile(const uint4* body, Index i, Index step, Index vectors) {
    // ANCHOR: flight
    uint4 v[UNROLL];
    for (unsigned int k = 0; k < UNROLL; k++) {
        v[k] = ALL || i + k * step < vectors
                   ? load_once<HINT>(body + i + k * step)
                   : make_uint4(0, 0, 0, 0);
    }
    T sums[UNROLL];
    for (unsigned int k = 0; k < UNROLL; k++) sums[k] = sum_of(v[k], T());
    return sum_in_pairs(sums);
    // ANCHOR_END: flight
}

// How an input is shared out. Each way has its own code, because every
// instruction and every jump before the first load adds to the time of a
// small sum.
enum Share {
    ONE_BLOCK, // one block, one tile
    ONE_TILE, // one tile a block
    MANY_TILES, // a loop over tiles
};
template <Share SHARE> struct IndexOf { using type = unsigned int; };
template <> struct IndexOf<MANY_TILES> { using type = unsigned long long; };

// A thread's share of the input. A block's vectors lie together in one tile
// or, if spread, as far apart as the grid is wide, which gives every block of
// a small input the same amount. The last block takes the few elements before
// the first whole line and behind the last vector, one for each thread.
// Vectors need only 16 bytes of alignment; but from the start of a line, a
// warp's 512 bytes are four lines, not five. A single block begins at the
// first vector, wherever its line is.
template <typename T, unsigned int BLOCK, unsigned int UNROLL, Share SHARE,
          bool OVERLAPS, bool HINT = true>
__device__ T sum_share(const T* in, unsigned long long n, unsigned int spread,
                       unsigned int ahead) {
    using Index = typename IndexOf<SHARE>::type;
    constexpr unsigned int PER_VECTOR = sizeof(uint4) / sizeof(T);
    constexpr unsigned int PER_LINE =
        SHARE == ONE_BLOCK ? PER_VECTOR : LINE_BYTES / sizeof(T);
    unsigned int past = static_cast<unsigned int>(
        reinterpret_cast<unsigned long long>(in) / sizeof(T));
    unsigned int head = (0 - past) % PER_LINE;
    if (head > n) head = n;
    Index vectors = (static_cast<Index>(n) - head) / PER_VECTOR;
    unsigned int tail = (static_cast<unsigned int>(n) - head) % PER_VECTOR;
    const uint4* body = reinterpret_cast<const uint4*>(in + head);

    Index i = threadIdx.x, step = BLOCK;
    if (SHARE != ONE_BLOCK) {
        i += static_cast<Index>(blockIdx.x) *
             (spread ? BLOCK : BLOCK * UNROLL);
        step = spread ? gridDim.x * BLOCK : BLOCK;
    }
    if (OVERLAPS)
        wait_for_launch_before<UNROLL, Index>(body, i, step, vectors, ahead);

    // First the odd elements: after the vectors they would cost a second trip
    // to memory.
    T odd = 0;
    if ((SHARE == ONE_BLOCK || blockIdx.x == gridDim.x - 1) &&
        threadIdx.x < head + tail) {
        odd = in[threadIdx.x < head ? threadIdx.x
                                    : n - tail + threadIdx.x - head];
    }
    if (SHARE != MANY_TILES)
        return odd + sum_tile<T, UNROLL, false, HINT>(body, i, step, vectors);
    T sum = odd;
    for (; i < vectors;
         i += static_cast<Index>(gridDim.x) * (BLOCK * UNROLL)) {
        sum += i + (UNROLL - 1) * step < vectors
                   ? sum_tile<T, UNROLL, true, HINT>(body, i, step, vectors)
                   : sum_tile<T, UNROLL, false, HINT>(body, i, step, vectors);
    }
    return sum;
}
// ANCHOR_END: tiles

// ANCHOR: packed
// Clears the word for the next launch. PTX would order a plain store too: it
// comes after the addition that found the word full. C++ would not, because a
// relaxed atomic synchronises with nothing, and a plain store beside atomic
// ones is then a data race.
__device__ void put_back(unsigned long long* word) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;"
                 :: "l"(word), "l"(0ull) : "memory");
}

// Integers: one atomic addition by each block carries its sum and counts it.
// The upper 16 bits of the word count blocks, the lower 48 hold the sum of up
// to 65,535 values below 2^32, of which the answer keeps 32 bits. What the
// addition returns tells the last block that it is the last, and the total,
// without another read. The state is this word: 0 before the launch, and 0
// after it.
template <unsigned int BLOCK>
__device__ void meet(unsigned int sum, unsigned int* out,
                     unsigned long long* state) {
    sum = block_sum<BLOCK>(sum);
    if (threadIdx.x != 0) return;
    // ANCHOR: word
    unsigned long long message = (1ull << 48) | sum;
    unsigned long long before = atomicAdd(state, message);
    if (before >> 48 == gridDim.x - 1) {
        put_back(state);
        *out = static_cast<unsigned int>(before + message);
    }
    // ANCHOR_END: word
}
// ANCHOR_END: packed

// ANCHOR: flags
// Floats: their sum depends on the order, so block 0 adds the blocks' sums in
// the order of their numbers. A message is one word of 64 bits, flag and
// value together: a receiver that sees the flag has the value, and no fence
// is needed. A double takes two such words. Lanes repeat the message until it
// fills its slot, a sector of 32 bytes, so that L2 need not fetch the rest of
// it from memory.
//
// The state is a slot for each block, aligned to 32 bytes. Words 0 and 1 of
// every slot are 0 before the launch, and 0 after it: a receiver looks at
// them, whatever the type. Words 2 and 3 only fill the sector. They keep what
// was last written, and are never read.
constexpr unsigned long long READY = 1ull << 32;
constexpr unsigned int SLOT_WORDS = 4;

// Called by warp 0, whose first lanes all have the value.
// ANCHOR: send
__device__ void send(unsigned long long* slot, float value) {
    if (threadIdx.x >= SLOT_WORDS) return;
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;"
                 :: "l"(slot + threadIdx.x),
                    "l"(READY | __float_as_uint(value)) : "memory");
}
// ANCHOR_END: send
__device__ void send(unsigned long long* slot, double value) {
    if (threadIdx.x >= SLOT_WORDS / 2) return;
    unsigned long long bits = __double_as_longlong(value);
    asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};"
                 :: "l"(slot + 2 * threadIdx.x),
                    "l"(READY | (bits & 0xffffffff)),
                    "l"(READY | (bits >> 32)) : "memory");
}
// ANCHOR: empty
// Clears the words that receivers look at, as put_back does for integers.
__device__ void empty(unsigned long long* slot) {
    asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %1};"
                 :: "l"(slot), "l"(0ull) : "memory");
}
// ANCHOR_END: empty
struct FloatMessage {
    unsigned long long word;
    __device__ void look(unsigned long long* slot) {
        asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];"
                     : "=l"(word) : "l"(slot) : "memory");
    }
    __device__ bool ready() { return word & READY; }
    __device__ float value() {
        return __uint_as_float(static_cast<unsigned int>(word));
    }
};
struct DoubleMessage {
    unsigned long long low, high;
    __device__ void look(unsigned long long* slot) {
        asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                     : "=l"(low), "=l"(high) : "l"(slot) : "memory");
    }
    __device__ bool ready() { return low & high & READY; }
    __device__ double value() {
        return __longlong_as_double((low & 0xffffffff) | (high << 32));
    }
};
template <typename T> struct MessageOf { using type = FloatMessage; };
template <> struct MessageOf<double> { using type = DoubleMessage; };

// Waits for the messages of blocks first, first + stride, ... and adds them
// in that order. It looks at two slots together, at the same one twice if
// there is only one: the compiler puts a look that depends on a condition
// behind the one before it.
template <typename T>
__device__ T receive(unsigned long long* slots, unsigned int first,
                     unsigned int stride) {
    typename MessageOf<T>::type message, other;
    T sum = 0;
    for (unsigned int b = first; b < gridDim.x; b += 2 * stride) {
        bool two = b + stride < gridDim.x;
        unsigned long long* slot = slots + SLOT_WORDS * b;
        unsigned long long* second = two ? slot + SLOT_WORDS * stride : slot;
        // ANCHOR: looks
        do {
            message.look(slot);
            other.look(second);
        } while (!(message.ready() && other.ready()));
        sum += message.value();
        empty(slot);
        // ANCHOR_END: looks
        if (two) {
            sum += other.value();
            empty(second);
        }
    }
    return sum;
}

// `sum` is the block's, in warp 0.
template <unsigned int BLOCK, typename T>
__device__ void exchange(T sum, T* out, unsigned long long* slots) {
    if (blockIdx.x > 0) {
        send(slots + SLOT_WORDS * blockIdx.x, sum);
        return;
    }
    // As many warps as can look at all messages at once, two for each lane.
    // If one warp is enough, only shuffles stand between the last message and
    // the result.
    unsigned int receivers =
        min(BLOCK, (gridDim.x - 1 + 2 * WARP - 1) / (2 * WARP) * WARP);
    T others = threadIdx.x < receivers
                   ? receive<T>(slots, 1 + threadIdx.x, receivers)
                   : T(0);
    if (receivers > WARP) {
        others = block_sum<BLOCK, 1>(others);
    } else if (threadIdx.x < WARP) {
        others = warp_sum(others);
    }
    if (threadIdx.x == 0) *out = sum + others;
}

template <unsigned int BLOCK, typename T>
__device__ void meet(T sum, T* out, unsigned long long* slots) {
    // Block 0 too: its own sum is ready before the messages of the others.
    exchange<BLOCK>(block_sum<BLOCK>(sum), out, slots);
}
// ANCHOR_END: flags

// ANCHOR: single_pass
template <typename T, unsigned int BLOCK, unsigned int UNROLL, Share SHARE,
          bool OVERLAPS>
__device__ void single_pass(const T* in, T* out, unsigned long long n,
                            unsigned long long* state, unsigned int spread,
                            unsigned int ahead) {
    // ANCHOR: whole
    T sum = sum_share<T, BLOCK, UNROLL, SHARE, OVERLAPS>(
        in, n, spread, ahead);
    if (SHARE != ONE_BLOCK) {
        meet<BLOCK>(sum, out, state);
    } else {
        sum = block_sum<BLOCK>(sum);
        if (threadIdx.x == 0) *out = sum;
    }
    // ANCHOR_END: whole
}
// ANCHOR_END: single_pass

// ---- one idea taken away at a time, for the table in the results ---------------------

// ANCHOR: ablation
// The message: a value, a fence and a ticket instead. The fences of thread 0
// are enough for its block, as the barrier hands them on; many kernels let
// every thread make them.
template <typename T, unsigned int BLOCK, unsigned int UNROLL, Share SHARE,
          bool EVERY_THREAD>
__device__ void ticket(const T* in, T* out, unsigned long long n,
                       unsigned long long* state, unsigned int spread) {
    __shared__ bool is_last;
    unsigned int* tickets = reinterpret_cast<unsigned int*>(state);
    T* of_blocks = reinterpret_cast<T*>(state + 1);
    T sum = block_sum<BLOCK>(
        sum_share<T, BLOCK, UNROLL, SHARE, false>(in, n, spread, 0));
    if (threadIdx.x == 0) of_blocks[blockIdx.x] = sum;
    if (EVERY_THREAD || threadIdx.x == 0) __threadfence();
    if (threadIdx.x == 0)
        is_last = atomicInc(tickets, gridDim.x - 1) == gridDim.x - 1;
    if (!EVERY_THREAD && threadIdx.x == 0) __threadfence();
    __syncthreads();
    if (EVERY_THREAD) __threadfence();
    if (!is_last) return;
    sum = 0;
    for (unsigned int b = threadIdx.x; b < gridDim.x; b += BLOCK) {
        sum += of_blocks[b];
        of_blocks[b] = 0; // the next kernel to use this state wants zeros
    }
    sum = block_sum<BLOCK, 1>(sum);
    if (threadIdx.x == 0) *out = sum;
}

// Loads of 16 bytes: as many bytes in flight, one element at a time.
template <typename T, unsigned int BLOCK, unsigned int UNROLL>
__device__ void narrow(const T* in, T* out, unsigned long long n,
                       unsigned long long* state) {
    constexpr unsigned int TOGETHER = UNROLL * sizeof(uint4) / sizeof(T);
    unsigned long long stride =
        static_cast<unsigned long long>(gridDim.x) * BLOCK;
    unsigned long long i =
        static_cast<unsigned long long>(blockIdx.x) * BLOCK + threadIdx.x;
    T sum = 0;
    for (; i < n; i += TOGETHER * stride) {
        T loaded[TOGETHER];
        for (unsigned int k = 0; k < TOGETHER; k++)
            loaded[k] = i + k * stride < n ? in[i + k * stride] : T(0);
        for (unsigned int k = 0; k < TOGETHER; k++) sum += loaded[k];
    }
    meet<BLOCK>(sum, out, state);
}

// The hint not to keep the input in L1.
template <typename T, unsigned int BLOCK, unsigned int UNROLL, Share SHARE>
__device__ void hintless(const T* in, T* out, unsigned long long n,
                         unsigned long long* state, unsigned int spread) {
    meet<BLOCK>(
        sum_share<T, BLOCK, UNROLL, SHARE, false, false>(in, n, spread, 0),
        out, state);
}

// The columns of floats: five shuffles in every warp and five more instead.
template <typename T, unsigned int BLOCK, unsigned int UNROLL, Share SHARE>
__device__ void shuffles(const T* in, T* out, unsigned long long n,
                         unsigned long long* state, unsigned int spread) {
    T sum = sum_of_warps<BLOCK>(
        sum_share<T, BLOCK, UNROLL, SHARE, false>(in, n, spread, 0));
    exchange<BLOCK>(sum, out, state);
}

// The copies of a float's message that fill its sector.
template <unsigned int BLOCK, unsigned int UNROLL, Share SHARE>
__device__ void lone_word(const float* in, float* out, unsigned long long n,
                          unsigned long long* state, unsigned int spread) {
    float sum = block_sum<BLOCK>(
        sum_share<float, BLOCK, UNROLL, SHARE, false>(in, n, spread, 0));
    if (blockIdx.x == 0) {
        exchange<BLOCK>(sum, out, state);
    } else if (threadIdx.x == 0) {
        asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(
                         state + SLOT_WORDS * blockIdx.x),
                     "l"(READY | __float_as_uint(sum))
                     : "memory");
    }
}

// One launch: every block leaves its sum to a second one.
template <typename T, unsigned int BLOCK, unsigned int UNROLL, Share SHARE>
__device__ void partial(const T* in, T* out, unsigned long long n,
                        unsigned int spread) {
    T sum = block_sum<BLOCK>(
        sum_share<T, BLOCK, UNROLL, SHARE, false>(in, n, spread, 0));
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
// ANCHOR_END: ablation

// ANCHOR: entries
// C names, so that a host program finds each instance by the name the reader
// sees: single_pass_tile_t128u2_f32 has blocks of 128 threads with 2 loads in
// flight, one tile each; single_pass_overlap_tile_t128u2_f32 may begin while
// the launch before it ends. With few loads in flight few registers are
// enough, and more blocks find room: 2,048 threads on a multiprocessor, 1,536
// with four loads, 1,024 with eight. An array of int is summed as unsigned
// int: the same 32 bits, and unsigned addition wraps where that of int would
// be undefined.
#define RESIDENT(BLOCK, UNROLL) \
    ((BLOCK) == WARP ? 1 : ((UNROLL) == 2 ? 2048 : (UNROLL) == 4 ? 1536 : 1024) / (BLOCK))
#define ENTRY(NAME, T, BLOCK, UNROLL, CALL) \
    extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT(BLOCK, UNROLL)) NAME( \
        const T* in, T* out, unsigned long long n, unsigned long long* state, unsigned int spread, \
        unsigned int ahead) { CALL; }
#define ALONE(T, TYPE, SHARE, NAME, BLOCK, UNROLL) \
    ENTRY(single_pass_##NAME##_t##BLOCK##u##UNROLL##_##TYPE, T, BLOCK, UNROLL, \
          (single_pass<T, BLOCK, UNROLL, SHARE, false>(in, out, n, state, spread, 0)))
#if __CUDA_ARCH__ >= 900
#define SINGLE_PASS(T, TYPE, SHARE, NAME, BLOCK, UNROLL) \
    ALONE(T, TYPE, SHARE, NAME, BLOCK, UNROLL) \
    ENTRY(single_pass_overlap_##NAME##_t##BLOCK##u##UNROLL##_##TYPE, T, BLOCK, UNROLL, \
          (single_pass<T, BLOCK, UNROLL, SHARE, true>(in, out, n, state, spread, ahead)))
#else
#define SINGLE_PASS ALONE
#endif
#define SINGLE_PASSES(T, TYPE) \
    SINGLE_PASS(T, TYPE, ONE_BLOCK, block, 32, 8) \
    SINGLE_PASS(T, TYPE, ONE_BLOCK, block, 128, 4) \
    SINGLE_PASS(T, TYPE, ONE_BLOCK, block, 256, 8) \
    SINGLE_PASS(T, TYPE, ONE_BLOCK, block, 512, 8) \
    SINGLE_PASS(T, TYPE, ONE_TILE, tile, 128, 2) \
    SINGLE_PASS(T, TYPE, ONE_TILE, tile, 128, 8) \
    SINGLE_PASS(T, TYPE, ONE_TILE, tile, 256, 2) \
    SINGLE_PASS(T, TYPE, ONE_TILE, tile, 256, 8) \
    SINGLE_PASS(T, TYPE, ONE_TILE, tile, 512, 8) \
    SINGLE_PASS(T, TYPE, MANY_TILES, tiles, 256, 2) \
    SINGLE_PASS(T, TYPE, MANY_TILES, tiles, 256, 8) \
    SINGLE_PASS(T, TYPE, MANY_TILES, tiles, 512, 8)
SINGLE_PASSES(unsigned int, i32)
SINGLE_PASSES(float, f32)
SINGLE_PASSES(double, f64)

#define WITHOUT(T, TYPE, SHARE, NAME, BLOCK, UNROLL) \
    ENTRY(ticket_##NAME##_t##BLOCK##u##UNROLL##_##TYPE, T, BLOCK, UNROLL, \
          (ticket<T, BLOCK, UNROLL, SHARE, false>(in, out, n, state, spread))) \
    ENTRY(fences_##NAME##_t##BLOCK##u##UNROLL##_##TYPE, T, BLOCK, UNROLL, \
          (ticket<T, BLOCK, UNROLL, SHARE, true>(in, out, n, state, spread))) \
    ENTRY(narrow_##NAME##_t##BLOCK##u##UNROLL##_##TYPE, T, BLOCK, UNROLL, \
          (narrow<T, BLOCK, UNROLL>(in, out, n, state))) \
    ENTRY(hintless_##NAME##_t##BLOCK##u##UNROLL##_##TYPE, T, BLOCK, UNROLL, \
          (hintless<T, BLOCK, UNROLL, SHARE>(in, out, n, state, spread))) \
    ENTRY(partial_##NAME##_t##BLOCK##u##UNROLL##_##TYPE, T, BLOCK, UNROLL, \
          (partial<T, BLOCK, UNROLL, SHARE>(in, out, n, spread)))
WITHOUT(unsigned int, i32, ONE_TILE, tile, 128, 2)
WITHOUT(unsigned int, i32, ONE_TILE, tile, 256, 8)
WITHOUT(unsigned int, i32, MANY_TILES, tiles, 256, 8)
WITHOUT(float, f32, ONE_TILE, tile, 128, 2)
WITHOUT(float, f32, ONE_TILE, tile, 512, 8)
#define FLOATS_WITHOUT(SHARE, NAME, BLOCK, UNROLL) \
    ENTRY(shuffles_##NAME##_t##BLOCK##u##UNROLL##_f32, float, BLOCK, UNROLL, \
          (shuffles<float, BLOCK, UNROLL, SHARE>(in, out, n, state, spread))) \
    ENTRY(lone_word_##NAME##_t##BLOCK##u##UNROLL##_f32, float, BLOCK, UNROLL, \
          (lone_word<BLOCK, UNROLL, SHARE>(in, out, n, state, spread)))
FLOATS_WITHOUT(ONE_TILE, tile, 128, 2)
FLOATS_WITHOUT(ONE_TILE, tile, 512, 8)
// ANCHOR_END: entries
