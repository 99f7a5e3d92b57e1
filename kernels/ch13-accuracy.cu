// Chapter 13: sums of floats, and who decides their last digits.
//
// Idea.   A float is an integer times a power of two, and sums of integers are the same in any order. Each
//         thread keeps 16 wide integers in shared memory, one for each sign and 32 exponents. At the end
//         they become one integer, which is rounded once.
// Limit.  As chapter 8: bandwidth. One float costs some 14 instructions and 16 bytes of shared memory,
//         behind the 4 bytes that come from memory.
// Worked. 2^24 - 1 is the largest integer of a float and 2^31 the largest shift within a slot, so that 511
//         additions stay below 2^64. Before the 512th a thread carries.

#include "elements.cuh"

constexpr unsigned int WARP = 32;
constexpr unsigned int LINE_BYTES = 128; // of the caches
constexpr unsigned int FULL = 0xffffffff; // all lanes of a warp; the largest limb
using u64 = unsigned long long;

// ---- inexact sums ----

// ANCHOR: plain
// How a sum is held: what one is at first, how it takes an element, and how
// two become one.
struct Plain {
    float sum = 0;
    __device__ void take(float x) { sum += x; }
    __device__ void join(Plain other) { sum += other.sum; }
    __device__ float result() { return sum; }
};
// ANCHOR_END: plain

// ANCHOR: kahan
// What an addition rounds off is subtracted from the next element. The
// compiler may not simplify (total - sum) - y to 0: floats do not add like
// numbers, and nvcc has no option that says they do.
struct Kahan {
    float sum = 0, over = 0; // by how much the sum is too large
    __device__ void take(float x) {
        float y = x - over;
        float total = sum + y;
        over = (total - sum) - y;
        sum = total;
    }
    __device__ void join(Kahan other) {
        take(other.sum);
        take(-other.over);
    }
    __device__ float result() { return sum - over; }
};
// ANCHOR_END: kahan

// ANCHOR: two_sum
// a + b as two floats whose sum is exact, whichever is larger (Knuth).
__device__ float2 two_sum(float a, float b) {
    float sum = a + b;
    float of_b = sum - a;
    float of_a = sum - of_b;
    return {sum, (a - of_a) + (b - of_b)};
}
// ANCHOR_END: two_sum

// ANCHOR: neumaier
// What is rounded off is added up apart, and right for a small sum that
// meets a large element too.
struct Neumaier {
    float sum = 0, rest = 0;
    __device__ void take(float x) {
        float2 both = two_sum(sum, x);
        sum = both.x;
        rest += both.y;
    }
    __device__ void join(Neumaier other) {
        take(other.sum);
        rest += other.rest;
    }
    __device__ float result() { return sum + rest; }
};
// ANCHOR_END: neumaier

// ANCHOR: pairs
// A number of 48 bits: two floats that do not overlap.
struct Pairs {
    float high = 0, low = 0;
    __device__ void take(float x) { join({x, 0}); }
    __device__ void join(Pairs other) {
        float2 highs = two_sum(high, other.high);
        float2 lows = two_sum(low, other.low);
        float2 sum = two_sum(highs.x, highs.y + lows.x);
        sum = two_sum(sum.x, sum.y + lows.y);
        high = sum.x;
        low = sum.y;
    }
    __device__ float result() { return high; }
};
// ANCHOR_END: pairs

struct Doubles {
    double sum = 0;
    __device__ void take(float x) { sum += x; }
    __device__ void join(Doubles other) { sum += other.sum; }
    __device__ float result() { return static_cast<float>(sum); }
};

// The value of the lane so many lanes on, word by word.
template <class Held> __device__ Held from_lane(Held mine, unsigned int apart) {
    constexpr unsigned int WORDS = sizeof(Held) / sizeof(unsigned int);
    unsigned int words[WORDS];
    memcpy(words, &mine, sizeof(mine));
    for (unsigned int k = 0; k < WORDS; k++)
        words[k] = __shfl_down_sync(FULL, words[k], apart);
    memcpy(&mine, words, sizeof(mine));
    return mine;
}

// ANCHOR: block
// The block's share: vectors, a few elements beside them, a tree of lanes,
// a tree of warps. The order is that of the grid.
template <class Held, unsigned int BLOCK>
__device__ Held block_share(const float* in, unsigned int n) {
    Held held;
    unsigned int head = min(static_cast<unsigned int>(
        (0 - reinterpret_cast<u64>(in) / sizeof(float)) % 4), n);
    unsigned int vectors = (n - head) / 4, first = head + 4 * vectors;
    const uint4* body = reinterpret_cast<const uint4*>(in + head);
    unsigned int thread = blockIdx.x * BLOCK + threadIdx.x;
    if (thread < head) held.take(in[thread]);
    for (u64 i = thread; i < vectors; i += gridDim.x * BLOCK) {
        uint4 v = load_once(body + i);
        held.take(__uint_as_float(v.x));
        held.take(__uint_as_float(v.y));
        held.take(__uint_as_float(v.z));
        held.take(__uint_as_float(v.w));
    }
    if (first + thread < n) held.take(in[first + thread]);

    __shared__ __align__(8) unsigned char memory[BLOCK / WARP * sizeof(Held)];
    Held* warps = reinterpret_cast<Held*>(memory);
    for (unsigned int apart = WARP / 2; apart > 0; apart /= 2)
        held.join(from_lane(held, apart));
    if (threadIdx.x % WARP == 0) warps[threadIdx.x / WARP] = held;
    __syncthreads();
    if (threadIdx.x < WARP) {
        held = threadIdx.x < BLOCK / WARP ? warps[threadIdx.x] : Held();
        for (unsigned int apart = BLOCK / WARP / 2; apart > 0; apart /= 2)
            held.join(from_lane(held, apart));
    }
    return held;
}
// ANCHOR_END: block

// ANCHOR: atomic
// Blocks add to one float in the order in which they come by.
extern "C" __global__ void clear_f32(float* out) { *out = 0; }
extern "C" __global__ void __launch_bounds__(256)
    plain_f32(const float* in, float* out, unsigned int n) {
    Plain held = block_share<Plain, 256>(in, n);
    if (threadIdx.x == 0) atomicAdd(out, held.sum);
}
// ANCHOR_END: atomic

// The blocks' values in the order of their numbers, by one block.
template <class Held>
__device__ void ordered(const float* in, Held* values, unsigned int n) {
    Held held = block_share<Held, 256>(in, n);
    if (threadIdx.x == 0) values[blockIdx.x] = held;
}
template <class Held>
__device__ void merge(const Held* values, float* out, unsigned int count) {
    if (threadIdx.x > 0) return;
    Held held;
    for (unsigned int i = 0; i < count; i++) held.join(values[i]);
    *out = held.result();
}
#define ORDERED(HELD, NAME) \
    extern "C" __global__ void __launch_bounds__(256) NAME##_f32( \
        const float* in, HELD* values, unsigned int n) { \
        ordered<HELD>(in, values, n); \
    } \
    extern "C" __global__ void __launch_bounds__(32) NAME##_merge_f32( \
        const HELD* values, float* out, unsigned int count) { \
        merge<HELD>(values, out, count); \
    }
ORDERED(Plain, ordered)
ORDERED(Kahan, kahan)
ORDERED(Neumaier, neumaier)
ORDERED(Pairs, pairs)
ORDERED(Doubles, doubles)

// ANCHOR: bins
// The same bits in any order, but not the exact sum: what is 66 bits below
// the largest element is lost. First the largest, of bits without the sign.
// All words are 0 before the first launch and after the last.
struct Bins { u64 largest, sums[3]; double special; };
__device__ int power_of(unsigned int largest, int bin) {
    return static_cast<int>(largest >> 23) - 127 - 21 - 22 * bin;
}
__device__ double two_to(int power) {
    return __hiloint2double((power + 1023) << 20, 0);
}
extern "C" __global__ void __launch_bounds__(256)
    bins_largest_f32(const float* in, Bins* bins, unsigned int n) {
    unsigned int bits = 0, stride = gridDim.x * 256;
    for (u64 i = blockIdx.x * 256 + threadIdx.x; i < n; i += stride)
        bits = max(bits, __float_as_uint(in[i]) & 0x7fffffff);
    bits = __reduce_max_sync(FULL, bits);
    if (threadIdx.x % WARP == 0)
        atomicMax(reinterpret_cast<unsigned int*>(&bins->largest), bits);
}
// Then three bins of 22 bits. Sums of integers do not round.
extern "C" __global__ void __launch_bounds__(256)
    bins_f32(const float* in, Bins* bins, unsigned int n) {
    constexpr unsigned int INFINITE = 0x7f800000;
    long long sum[3] = {};
    unsigned int largest = static_cast<unsigned int>(bins->largest);
    unsigned int stride = gridDim.x * 256;
    for (u64 i = blockIdx.x * 256 + threadIdx.x; i < n; i += stride) {
        double x = in[i];
        if ((__float_as_uint(in[i]) & 0x7fffffff) >= INFINITE) {
            atomicAdd(&bins->special, x);
            continue;
        }
        for (int bin = 0; bin < 3; bin++) {
            int power = power_of(largest, bin);
            int part = __double2int_rz(x * two_to(-power));
            sum[bin] += part;
            x -= part * two_to(power);
        }
    }
    for (int bin = 0; bin < 3; bin++) {
        for (unsigned int apart = WARP / 2; apart > 0; apart /= 2)
            sum[bin] += __shfl_down_sync(FULL, sum[bin], apart);
        if (threadIdx.x % WARP == 0)
            atomicAdd(&bins->sums[bin], static_cast<u64>(sum[bin]));
    }
}
extern "C" __global__ void bins_merge_f32(Bins* bins, float* out) {
    double total = bins->special;
    for (int bin = 2; bin >= 0; bin--) {
        int power = power_of(static_cast<unsigned int>(bins->largest), bin);
        total += static_cast<long long>(bins->sums[bin]) * two_to(power);
    }
    *out = static_cast<float>(total);
    *bins = Bins();
}
// ANCHOR_END: bins

// ---- exact sums ----

// Sums of numbers below 2^52 of either sign over a warp, by two of 32 bits.
__device__ u64 warp_sum(u64 x) {
    constexpr unsigned int BITS = 27, LOW = (1 << BITS) - 1;
    x += 1ull << 52;
    u64 low = __reduce_add_sync(FULL, static_cast<unsigned int>(x) & LOW);
    u64 high = __reduce_add_sync(FULL, static_cast<unsigned int>(x >> BITS));
    return low + (high << BITS) - (1ull << 57);
}

// ANCHOR: integer
// A float is an integer of 24 bits times a power of two. In units of 2^-150,
// half the smallest float, the power is the exponent as it is stored. A
// subnormal has no leading one, and in these units twice its fraction.
__device__ unsigned int integer_of(float x) {
    unsigned int bits = __float_as_uint(x);
    unsigned int fraction = bits & 0x7fffff;
    return fraction + (bits & 0x7f800000 ? 0x800000 : fraction);
}
// ANCHOR_END: integer
// The same of a double, in units of 2^-1075, with its sign.
__device__ unsigned int exponent_of(double x) {
    return max(__double2hiint(x) >> 20 & 0x7ff, 1);
}
__device__ long long integer_of(double x) {
    constexpr long long ONE = 1ll << 52;
    long long bits = __double_as_longlong(x);
    long long integer = bits & (ONE - 1);
    if (__double2hiint(x) & 0x7ff00000) integer |= ONE;
    return bits < 0 ? -integer : integer;
}
__device__ bool is_finite(double x) {
    return (__double2hiint(x) & 0x7ff00000) != 0x7ff00000;
}

// ANCHOR: slots
// A thread's sum of floats. Eight slots hold positive numbers and eight hold
// negative ones, each those of 32 exponents: the sign and the upper three
// bits of the exponent number the slot, the other five say how far to shift.
// Two more take what goes over. They lie in shared memory as
// [slot][thread], so that a thread's banks are its own, whatever the data.
template <unsigned int BLOCK> struct FloatSlots {
    using Slot = u64;
    static constexpr unsigned int SLOTS = 18, PLACES = 9;
    static constexpr unsigned int DIGITS = 2, STEP = 1, LIMBS = 11;
    static constexpr int UNIT = -150;
    static constexpr unsigned int CARRY_AFTER = 511; // 2^24 2^31 2^9 = 2^64

    // ANCHOR: add
    static __device__ void add(Slot* mine, float x) {
        unsigned int bits = __float_as_uint(x);
        unsigned int power = 1u << (bits >> 23 & 31);
        Slot& slot = mine[(bits >> 28) * BLOCK];
        slot += static_cast<u64>(integer_of(x)) * power;
    }
    // ANCHOR_END: add
    // ANCHOR: carry
    // The upper half of each slot goes to the next.
    static __device__ __noinline__ void carry(Slot* mine) {
#pragma unroll 1
        for (unsigned int side = 0; side < 2; side++) {
            u64 up = 0;
#pragma unroll 1
            for (unsigned int place = 0; place < 8; place++) {
                Slot& slot = mine[slot_at(place, side) * BLOCK];
                u64 low = (slot & FULL) + up;
                up = (slot >> 32) + (low >> 32);
                slot = low & FULL;
            }
            mine[slot_at(8, side) * BLOCK] += up;
        }
    }
    // ANCHOR_END: carry
    static __device__ unsigned int slot_at(unsigned int place,
                                           unsigned int side) {
        return place < 8 ? 8 * side + place : 16 + side;
    }
    // A block's sum of the slots of one place, positive less negative: digits
    // of 32 bits and more, in all lanes of a warp.
    static __device__ void sum(const Slot* slots, unsigned int place,
                               u64 (&digits)[DIGITS]) {
        const Slot* up = slots + slot_at(place, 0) * BLOCK;
        const Slot* down = slots + slot_at(place, 1) * BLOCK;
        u64 low = 0, high = 0;
#pragma unroll 8
        for (unsigned int t = threadIdx.x % WARP; t < BLOCK; t += WARP) {
            low += (up[t] & FULL) - (down[t] & FULL);
            high += (up[t] >> 32) - (down[t] >> 32);
        }
        digits[0] = warp_sum(low);
        digits[1] = warp_sum(high);
    }
    static __device__ double witness(const Slot*) { return 0; }
};
// ANCHOR_END: slots

// The same for doubles: slots of 128 bits with a sign, each for 64 exponents.
struct Int128 { u64 low, high; };
__device__ Int128 sum_of(Int128 a, u64 low, u64 high) {
    asm("add.cc.u64 %0, %0, %2;\n\taddc.u64 %1, %1, %3;"
        : "+l"(a.low), "+l"(a.high) : "l"(low), "l"(high));
    return a;
}
template <unsigned int BLOCK, unsigned int WIDTHS> struct DoubleSlots {
    using Slot = Int128;
    static constexpr unsigned int SLOTS = WIDTHS + 1, PLACES = SLOTS;
    static constexpr unsigned int DIGITS = 5, STEP = 2, LIMBS = 2 * SLOTS + 1;
    static constexpr int UNIT = WIDTHS == 32 ? -1075 : -2150;
    static constexpr unsigned int CARRY_AFTER = 2047; // 2^53 2^63 2^11 = 2^127

    static __device__ void add(Slot* mine, long long integer,
                               unsigned int exponent) {
        unsigned int shift = exponent & 63;
        u64 low = static_cast<u64>(integer) << shift, high;
        // In PTX a shift by 64 leaves the sign.
        asm("shr.s64 %0, %1, %2;" : "=l"(high) : "l"(integer), "r"(64 - shift));
        Slot& slot = mine[(exponent >> 6) * BLOCK];
        slot = sum_of(slot, low, high);
    }
    static __device__ void add(Slot* mine, double x) {
        add(mine, integer_of(x), exponent_of(x));
    }
    static __device__ void carry(Slot* mine) {
        u64 low = 0, high = 0;
#pragma unroll 1
        for (unsigned int place = 0; place < SLOTS; place++) {
            Slot sum = sum_of(mine[place * BLOCK], low, high);
            low = sum.high;
            high = is_negative(sum) ? ~0ull : 0;
            if (place + 1 < SLOTS) sum.high = 0;
            mine[place * BLOCK] = sum;
        }
    }
    // The last digit takes 1 for each negative number.
    static __device__ void sum(const Slot* slots, unsigned int place,
                               u64 (&digits)[DIGITS]) {
        u64 low = 0, high = 0, top = 0;
#pragma unroll 4
        for (unsigned int t = threadIdx.x % WARP; t < BLOCK; t += WARP) {
            Slot slot = slots[place * BLOCK + t];
            u64 sign = is_negative(slot) ? ~0ull : 0;
            asm("add.cc.u64 %0, %0, %3;\n\taddc.cc.u64 %1, %1, %4;\n\t"
                "addc.u64 %2, %2, %5;" : "+l"(low), "+l"(high), "+l"(top)
                : "l"(slot.low), "l"(slot.high), "l"(sign));
        }
        digits[0] = warp_sum(low & FULL);
        digits[1] = warp_sum(low >> 32);
        digits[2] = warp_sum(high & FULL);
        digits[3] = warp_sum(high >> 32);
        digits[4] = warp_sum(top);
    }
    static __device__ double witness(const Slot*) { return 0; }
    static __device__ bool is_negative(Slot slot) {
        return static_cast<long long>(slot.high) < 0;
    }
};

// ANCHOR: short
// The same for short floats: slots are floating-point numbers, and never
// round. A double holds 2^13 f16, which are below 2^40 in units of 2^-24, or
// 2^14 products of them, integers of 24 bits and 16 exponents. A float holds
// 2^9 bf16, integers of 8 bits and 8 exponents; they are scaled down, to keep
// their sums below infinity. Slots above these take what is carried.
template <unsigned int BLOCK, typename Number, unsigned int COUNT>
struct ShortSlots {
    using Slot = Number;
    static constexpr bool IS_F16 = COUNT == 1, IS_BF16 = sizeof(Number) == 4;
    static constexpr unsigned int APART = IS_F16 ? 32 : 256 / COUNT; // bits
    static constexpr unsigned int LOWEST = IS_F16 ? 126 : IS_BF16 ? 16 : 0;
    static constexpr unsigned int A_LIMB = 32 / APART, BELOW = LOWEST / APART;
    static constexpr unsigned int SLOTS = COUNT + A_LIMB;
    static constexpr unsigned int PLACES = (BELOW + SLOTS - 1) / A_LIMB + 1;
    static constexpr unsigned int DIGITS = 3, STEP = 1, LIMBS = 11;
    static constexpr int UNIT = -150;
    // The sum of 16 bytes of slots stays below 2^51, too.
    static constexpr unsigned int CARRY_AFTER =
        IS_F16 ? 1023 : IS_BF16 ? 511 : 2047;

    static __device__ void add(Slot* mine, float x) {
        unsigned int exponent = __float_as_uint(x) >> 23 & 255;
        Slot& slot = mine[exponent * COUNT / 256 * BLOCK];
        if (IS_BF16) slot = fmaf(x, 0x1p-16f, slot);
        else slot += x;
    }
    // The unit of a slot is 2 to this power.
    static __device__ int power(unsigned int s) {
        return UNIT + static_cast<int>(APART * s + (IS_BF16 ? 0 : LOWEST));
    }
    // What is a multiple of the next slot's unit goes there, and less than
    // three additions stay. An infinity stays where it is.
    static __device__ __noinline__ void carry(Slot* mine) {
        double below = 0;
#pragma unroll 4
        for (unsigned int s = 0; s < SLOTS; s++) {
            double number = mine[s * BLOCK];
            double rounder = two_to(power(s + 1) + 52) * 1.5;
            bool stays = s + 1 == SLOTS || number - number != 0;
            double up = stays ? 0 : number + rounder - rounder;
            mine[s * BLOCK] = number - up + below;
            below = up;
        }
    }
    // Numbers become integers by an addition that rounds nothing.
    static __device__ void sum(const Slot* slots, unsigned int place,
                               u64 (&digits)[DIGITS]) {
        constexpr unsigned int EACH = sizeof(uint4) / sizeof(Slot);
        constexpr double ADDED = 0x1.8p52;
        for (u64& digit : digits) digit = 0;
        for (unsigned int k = 0; k < A_LIMB; k++) {
            unsigned int s = place * A_LIMB + k - BELOW;
            if (s >= SLOTS) continue;
            auto vectors = reinterpret_cast<const uint4*>(slots + s * BLOCK);
            double scale = two_to(-power(s));
            u64 sum = 0;
#pragma unroll 4
            for (unsigned int t = threadIdx.x % WARP; t < BLOCK / EACH;
                 t += WARP) {
                Slot numbers[EACH];
                memcpy(numbers, vectors + t, sizeof(uint4));
                double number = 0;
                for (Slot one : numbers) number += one;
                sum += __double_as_longlong(fma(number, scale, ADDED)) -
                       __double_as_longlong(ADDED);
            }
            long long high = static_cast<long long>(sum) >> 32;
            sum = warp_sum(sum & FULL) + (warp_sum(high) << 32);
            unsigned int shift = (LOWEST + APART * s) % 32;
            digits[0] += sum << shift & FULL;
            digits[1] += sum << shift >> 32;
            digits[2] += static_cast<long long>(sum) >> 32 >> (32 - shift);
        }
    }
    // Infinities and NaNs are in the slot of the largest exponents.
    static __device__ double witness(const Slot* mine) {
        return mine[(COUNT - 1) * BLOCK];
    }
};
// ANCHOR_END: short

// Which slots take the numbers of a type.
template <typename T, unsigned int BLOCK> struct SlotsOf {
    using Slots = FloatSlots<BLOCK>;
};
template <unsigned int BLOCK> struct SlotsOf<double, BLOCK> {
    using Slots = DoubleSlots<BLOCK, 32>;
};
template <unsigned int BLOCK> struct SlotsOf<bf16, BLOCK> {
    using Slots = ShortSlots<BLOCK, float, 32>;
};
template <unsigned int BLOCK> struct SlotsOf<f16, BLOCK> {
    using Slots = ShortSlots<BLOCK, double, 1>;
};

// ANCHOR: operators
// What an element is to its slots. Each returns the number that it added.
template <typename T> struct Sum {
    using In = T;
    using Out = decltype(widen(T()));
    static constexpr bool TWO_INPUTS = false;
    static constexpr unsigned int PIECES = 1;
    template <unsigned int BLOCK>
    using Slots = typename SlotsOf<T, BLOCK>::Slots;
    template <class S>
    static __device__ T add(typename S::Slot* mine, T x, T) {
        S::add(mine, widen(x));
        return x;
    }
};
// Products that round nothing: of floats and bf16 in double, of f16 in float.
template <typename T> struct Dot : Sum<double> {
    using In = T;
    using Out = float;
    static constexpr bool TWO_INPUTS = true;
    template <class S>
    static __device__ double add(typename S::Slot* mine, T x, T y) {
        double product = static_cast<double>(widen(x)) * widen(y);
        S::add(mine, product);
        return product;
    }
};
template <> struct Dot<f16> : Sum<float> {
    using In = f16;
    static constexpr bool TWO_INPUTS = true;
    template <unsigned int BLOCK> using Slots = ShortSlots<BLOCK, double, 16>;
    template <class S>
    static __device__ float add(typename S::Slot* mine, f16 x, f16 y) {
        float product = widen(x) * widen(y);
        S::add(mine, product);
        return product;
    }
};
// ANCHOR_END: operators
// Of doubles 106 bits, in two pieces.
template <> struct Dot<double> {
    using In = double;
    using Out = double;
    static constexpr bool TWO_INPUTS = true;
    static constexpr unsigned int PIECES = 2;
    template <unsigned int BLOCK> using Slots = DoubleSlots<BLOCK, 65>;
    template <class S>
    static __device__ double add(typename S::Slot* mine, double x, double y) {
        constexpr unsigned int BITS = 53;
        long long a = integer_of(x), b = integer_of(y);
        u64 low = static_cast<u64>(a) * static_cast<u64>(b);
        u64 high = static_cast<u64>(__mul64hi(a, b)) << (64 - BITS);
        unsigned int exponent = exponent_of(x) + exponent_of(y);
        S::add(mine, low & ((1ull << BITS) - 1), exponent);
        S::add(mine, high | low >> BITS, exponent + BITS);
        // Of finite numbers the sign says enough, and cannot overflow.
        if (!is_finite(x) || !is_finite(y)) return x * y;
        double sign = copysign(1.0, x) * copysign(1.0, y);
        return x == 0 || y == 0 ? 0 * sign : sign;
    }
};
template <typename T> struct SumOfSquares : Dot<T> {
    static constexpr bool TWO_INPUTS = false;
};

// ANCHOR: marks
// What no integer says: whether there was a NaN or an infinity, and whether
// all numbers were negative, -0 among them.
struct Marks {
    double witness = 0;
    float of_floats = 0;
    unsigned int signs = FULL;
    // Scaled down, finite numbers add up to none that is infinite.
    __device__ void note(float x) {
        of_floats = fmaf(x, 0x1p-60f, of_floats);
        signs &= __float_as_uint(x);
    }
    __device__ void note(double x) {
        witness = fma(x, 0x1p-60, witness);
        signs &= __double2hiint(x);
    }
    // Of short floats a slot is the witness.
    __device__ void note(bf16 x) { signs &= x.bits << 16; }
    __device__ void note(f16 x) { signs &= x.bits << 16; }
    // Some number is not negative; not all are below +infinity, or above
    // -infinity. A NaN is neither.
    __device__ unsigned int bits() {
        constexpr double MOST = 1.7976931348623157e308;
        double all = witness + of_floats;
        return (signs >> 31 ? 0 : 1) | (all <= MOST ? 0 : 2) |
               (all >= -MOST ? 0 : 4);
    }
};
// ANCHOR_END: marks

template <typename T> struct Elements { T x[sizeof(uint4) / sizeof(T)]; };
template <typename T> __device__ Elements<T> elements_of(uint4 v) {
    Elements<T> elements;
    memcpy(&elements, &v, sizeof(v));
    return elements;
}
// How an input is shared out, as in chapter 9. ROLLING: many tiles, of which a
// vector is loaded anew as soon as it is taken.
enum Ways { ONE_TILE, MANY_TILES, ROLLING };

// ANCHOR: share
// A thread's share of the input, in its slots.
template <class Op, unsigned int BLOCK, unsigned int UNROLL, Ways WAYS>
struct Share {
    using T = typename Op::In;
    using S = typename Op::template Slots<BLOCK>;
    static constexpr bool TWO = Op::TWO_INPUTS;
    static constexpr unsigned int PER_VECTOR = sizeof(uint4) / sizeof(T);
    struct Tile { uint4 v[UNROLL], w[TWO ? UNROLL : 1]; };
    typename S::Slot* mine;
    u64* state;
    Marks marks;
    unsigned int added = 0;

    __device__ void clear() {
        for (unsigned int s = 0; s < S::SLOTS; s++)
            mine[s * BLOCK] = typename S::Slot();
        // The words where blocks will meet come near meanwhile.
        const u64* line = state + threadIdx.x * (LINE_BYTES / sizeof(u64));
        if (line <= state + S::LIMBS && gridDim.x > 1)
            asm volatile("prefetch.global.L2 [%0];" :: "l"(line));
    }
    // Carries before so many additions if they might overflow a slot.
    __device__ void room_for(unsigned int count) {
        added += count * Op::PIECES;
        if (added <= S::CARRY_AFTER) return;
        S::carry(mine);
        added = count * Op::PIECES + 3; // a carry leaves less than three
    }
    __device__ void take(T x, T y) {
        marks.note(Op::template add<S>(mine, x, y));
    }
    __device__ void take(uint4 v, uint4 w) {
        Elements<T> x = elements_of<T>(v), y = elements_of<T>(w);
        for (unsigned int j = 0; j < PER_VECTOR; j++)
            take(x.x[j], TWO ? y.x[j] : x.x[j]);
    }
    __device__ void take(const Tile& tile) {
        room_for(UNROLL * PER_VECTOR);
        for (unsigned int k = 0; k < UNROLL; k++)
            take(tile.v[k], tile.w[TWO ? k : 0]);
    }
    static __device__ void load(Tile& tile, const uint4* v, const uint4* w) {
        for (unsigned int k = 0; k < UNROLL; k++) {
            tile.v[k] = load_once(v + k * BLOCK);
            if (TWO) tile.w[k] = load_once(w + k * BLOCK);
        }
    }
    // Less than a tile for each block, spread evenly over the blocks.
    static __device__ void load_spread(Tile& tile, const uint4* v,
                                       const uint4* w, unsigned int vectors) {
        unsigned int i = blockIdx.x * BLOCK + threadIdx.x;
        for (unsigned int k = 0; k < UNROLL; k++, i += gridDim.x * BLOCK) {
            if (i >= vectors) break;
            tile.v[k] = load_once(v + i);
            if (TWO) tile.w[k] = load_once(w + i);
        }
    }
    __device__ void take_spread(const Tile& tile, unsigned int vectors) {
        unsigned int i = blockIdx.x * BLOCK + threadIdx.x;
        for (unsigned int k = 0; k < UNROLL; k++, i += gridDim.x * BLOCK) {
            if (i >= vectors) break;
            take(tile.v[k], tile.w[TWO ? k : 0]);
        }
    }
    __device__ void one_tile(const uint4* v, const uint4* w, u64 vectors) {
        Tile tile;
        load_spread(tile, v, w, static_cast<unsigned int>(vectors));
        clear();
        added = UNROLL * PER_VECTOR;
        take_spread(tile, static_cast<unsigned int>(vectors));
    }
    // Tiles in turns. One is on its way while the one before it is added,
    // and the first while the slots are cleared.
    __device__ void many_tiles(const uint4* v, const uint4* w, u64 vectors) {
        constexpr unsigned int TILE = BLOCK * UNROLL;
        u64 round = static_cast<u64>(gridDim.x) * TILE, done = round;
        u64 first = static_cast<u64>(blockIdx.x) * TILE + threadIdx.x;
        const uint4 *v_next = v + first, *w_next = w + first;
        if (round > vectors) return one_tile(v, w, vectors);
        Tile tile;
        load(tile, v_next, w_next);
        clear();
        if (WAYS == ROLLING)
            return roll(tile, v, w, first, round, vectors);
#pragma unroll 1
        for (; done + round <= vectors; done += round) {
            Tile next;
            v_next += round;
            w_next += round;
            load(next, v_next, w_next);
            take(tile);
            tile = next;
        }
        Tile rest;
        unsigned int left = static_cast<unsigned int>(vectors - done);
        load_spread(rest, v + done, w + done, left);
        take(tile);
        room_for(UNROLL * PER_VECTOR);
        take_spread(rest, left);
    }
    // The same in fewer registers, so that more blocks are there: instead of
    // a tile a thread loads vectors ahead.
    __device__ void roll(Tile& tile, const uint4* v, const uint4* w, u64 first,
                         u64 round, u64 vectors) {
        const uint4 *v_next = v + first, *w_next = w + first;
        u64 done = round;
#pragma unroll 1
        for (; done + round <= vectors; done += round) {
            v_next += round;
            w_next += round;
            room_for(UNROLL * PER_VECTOR);
#pragma unroll
            for (unsigned int k = 0; k < UNROLL; k++) {
                take(tile.v[k], tile.w[TWO ? k : 0]);
                tile.v[k] = load_once(v_next + k * BLOCK);
                if (TWO) tile.w[k] = load_once(w_next + k * BLOCK);
            }
        }
        unsigned int left = static_cast<unsigned int>(vectors - done);
        unsigned int i = blockIdx.x * BLOCK + threadIdx.x;
        room_for(UNROLL * PER_VECTOR);
        for (unsigned int k = 0; k < UNROLL; k++, i += gridDim.x * BLOCK) {
            take(tile.v[k], tile.w[TWO ? k : 0]);
            if (i >= left) continue;
            tile.v[k] = load_once(v + done + i);
            if (TWO) tile.w[k] = load_once(w + done + i);
        }
        room_for(UNROLL * PER_VECTOR);
        take_spread(tile, left);
    }
    // Two inputs are read in vectors if they begin at the same offset within
    // 16 bytes, and otherwise by elements.
    __device__ void all(const T* in, const T* other, u64 n) {
        u64 past = reinterpret_cast<u64>(in) / sizeof(T);
        u64 head = min((0 - past) % (LINE_BYTES / sizeof(T)), n);
        u64 apart = reinterpret_cast<u64>(in) ^ reinterpret_cast<u64>(other);
        if (TWO && apart % sizeof(uint4)) head = n;
        u64 vectors = (n - head) / PER_VECTOR, tail = (n - head) % PER_VECTOR;
        const uint4* v = reinterpret_cast<const uint4*>(in + head);
        const uint4* w = reinterpret_cast<const uint4*>(other + head);
        if (WAYS == ONE_TILE) one_tile(v, w, vectors);
        else many_tiles(v, w, vectors);
        // The last block begins with what is in no vector.
        u64 j = (gridDim.x - 1 - blockIdx.x) * BLOCK + threadIdx.x;
#pragma unroll 1
        for (; j < head + tail; j += gridDim.x * BLOCK) {
            u64 i = j < head ? j : n - tail + j - head;
            room_for(1);
            take(in[i], TWO ? other[i] : in[i]);
        }
    }
};
// ANCHOR_END: share

// ANCHOR: whole
// A whole number in a warp: each lane holds EACH limbs of 32 bits, the lowest
// in lane 0. Negative numbers are two's complements, as in one word.
template <unsigned int LIMBS> struct Whole {
    static constexpr unsigned int EACH = (LIMBS + WARP - 1) / WARP;
    u64 limb[EACH];

    static __device__ unsigned int first() {
        return threadIdx.x % WARP * EACH;
    }
    // Within the lane. The last limb keeps what goes over.
    __device__ void ripple(u64 up) {
        for (unsigned int j = 0; j < EACH; j++) {
            limb[j] += up;
            if (j + 1 == EACH) break;
            up = limb[j] >> 32;
            limb[j] &= FULL;
        }
    }
    __device__ u64 cut() {
        u64 over = limb[EACH - 1] >> 32;
        limb[EACH - 1] &= FULL;
        return over;
    }
    // Limbs below 2^63 become limbs below 2^33.
    __device__ void hand_on() {
        ripple(0);
        u64 up = __shfl_up_sync(FULL, cut(), 1);
        ripple(threadIdx.x % WARP ? up : 0);
    }
    // They become limbs below 2^32.
    __device__ void carry() {
        hand_on();
        // Now no lane hands on more than 1. Lanes that are full pass it on:
        // one addition, of bits that stand for lanes, finds who gets one.
        bool gives = cut(), is_full = true;
        for (unsigned int j = 0; j < EACH; j++) is_full &= limb[j] == FULL;
        unsigned int passing = __ballot_sync(FULL, is_full);
        unsigned int giving = __ballot_sync(FULL, gives);
        unsigned int getting = (passing + (giving << 1)) ^ passing;
        ripple(getting >> threadIdx.x % WARP & 1);
        cut();
    }
    // Turns all bits over and adds 1, which goes up to the first limb that
    // was not 0.
    __device__ void negate() {
        bool is_zero = true;
        for (unsigned int j = 0; j < EACH; j++) is_zero &= limb[j] == 0;
        unsigned int others = ~__ballot_sync(FULL, is_zero);
        bool one = (others & ((1u << threadIdx.x % WARP) - 1)) == 0;
        for (unsigned int j = 0; j < EACH; j++) {
            bool goes_on = one && limb[j] == 0;
            limb[j] = (~limb[j] + one) & FULL;
            one = goes_on;
        }
    }
    __device__ bool is_negative() {
        constexpr unsigned int TOP = LIMBS - 1;
        return __shfl_sync(FULL, limb[TOP % EACH], TOP / EACH) >> 31 & 1;
    }
};
// ANCHOR_END: whole

// ANCHOR: collect
// The sums of a block's slots: digits of either sign, by one warp a place.
template <class S> using Found = u64[S::PLACES][S::DIGITS];
template <class S, unsigned int BLOCK>
__device__ void collect(const typename S::Slot* slots, Found<S>& found) {
    for (unsigned int place = threadIdx.x / WARP; place < S::PLACES;
         place += BLOCK / WARP) {
        u64 digits[S::DIGITS];
        S::sum(slots, place, digits);
        if (threadIdx.x % WARP) continue;
        for (unsigned int k = 0; k < S::DIGITS; k++)
            found[place][k] = digits[k];
    }
}

// Their whole number, in limbs below 2^33. 2^46 more in each limb keeps all of
// them positive, and 2^14 less in the one above makes up for it.
template <class S>
__device__ Whole<S::LIMBS> whole_of(const Found<S>& found) {
    Whole<S::LIMBS> whole;
    for (unsigned int j = 0; j < whole.EACH; j++) {
        unsigned int i = whole.first() + j;
        whole.limb[j] = (1ull << 46) - (i ? 1 << 14 : 0);
        for (unsigned int k = 0; k < S::DIGITS; k++) {
            unsigned int place = (i - k) / S::STEP;
            if (i < k || (i - k) % S::STEP || place >= S::PLACES) continue;
            whole.limb[j] += found[place][k];
        }
    }
    whole.hand_on();
    return whole;
}
// ANCHOR_END: collect

// ANCHOR: meet
// Words that blocks add to: a limb below, and above it how many blocks have
// added theirs. Additions of integers may come in any order, and the last
// to come needs no fence: a word that all have added to is whole.
constexpr u64 ONE_MORE = 1ull << 48;
__device__ u64 look(const u64* word) {
    u64 seen;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];"
                 : "=l"(seen) : "l"(word) : "memory");
    return seen;
}
__device__ void empty(u64* word) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;"
                 :: "l"(word), "l"(0ull) : "memory");
}
// Adds up the blocks' numbers in block 0, and their marks, which are one
// more word above the limbs. False in the other blocks.
template <unsigned int LIMBS>
__device__ bool meet(Whole<LIMBS>& whole, u64& marks, u64* state) {
    constexpr unsigned int EACH = Whole<LIMBS>::EACH;
    for (unsigned int j = 0; j < EACH; j++)
        if (whole.first() + j == LIMBS) whole.limb[j] = marks;
    unsigned int mine = min(EACH, LIMBS + 1 - min(whole.first(), LIMBS + 1));
    u64* words = state + whole.first();
    if (blockIdx.x) {
        for (unsigned int j = 0; j < EACH; j++)
            if (j < mine) atomicAdd(words + j, ONE_MORE + whole.limb[j]);
        return false;
    }
    if (gridDim.x > 1) {
        u64 seen[EACH];
        bool all;
        do {
            all = true;
            for (unsigned int j = 0; j < EACH; j++)
                seen[j] = j < mine ? look(words + j) : ~0ull;
            for (u64 word : seen) all &= word / ONE_MORE >= gridDim.x - 1;
        } while (!all);
        for (unsigned int j = 0; j < EACH; j++) {
            if (j >= mine) break;
            empty(words + j);
            whole.limb[j] += seen[j] % ONE_MORE;
        }
    }
    marks = __shfl_sync(FULL, whole.limb[LIMBS % EACH], LIMBS / EACH);
    whole.carry();
    return true;
}
// ANCHOR_END: meet

// ANCHOR: nearest
// The one rounding: to the nearest, ties to even. The first of 64 bits is a
// one, worth 2^exponent, and more says whether anything is below them.
template <typename R>
__device__ R nearest(u64 bits, bool more, int exponent, bool negative) {
    constexpr bool IS_FLOAT = sizeof(R) == 4;
    constexpr int KEPT = IS_FLOAT ? 24 : 53, LEAST = IS_FLOAT ? -126 : -1022;
    int gone = 64 - KEPT, steps = exponent - LEAST;
    if (steps < 0) { // subnormal: fewer bits are kept
        gone = min(gone - steps, 65);
        steps = 0;
    }
    u64 integer = gone < 64 ? bits >> gone : 0;
    u64 rest = gone < 64 ? bits << (64 - gone) : gone == 64 ? bits : 1;
    constexpr u64 HALF = 1ull << 63;
    if (rest > HALF || (rest == HALF && (more || integer & 1))) integer++;
    // The leading one counts as a step, and a carry as another.
    u64 infinity = (IS_FLOAT ? 0xffull : 0x7ffull) << (KEPT - 1);
    u64 stored = min((static_cast<u64>(steps) << (KEPT - 1)) + integer, infinity);
    if (IS_FLOAT)
        return __uint_as_float(static_cast<unsigned int>(stored | u64(negative) << 31));
    return __longlong_as_double(stored | u64(negative) << 63);
}
// ANCHOR_END: nearest

// Divides a whole number by one below 2^47, for a mean, as far down as the
// rounding looks: to the third limb of the quotient. Returns the rest.
__device__ __noinline__ u64 divide(unsigned int* limbs, int& highest, u64 divisor) {
    u64 rest = 0;
    int first = -1; // limb of the quotient
#pragma unroll 1
    for (int i = highest; i >= 0 && (first < 0 || i + 2 >= first); i--) {
        u64 high = rest << 16 | limbs[i] >> 16;
        u64 low = high % divisor << 16 | (limbs[i] & 0xffff);
        limbs[i] = static_cast<unsigned int>(high / divisor << 16 | low / divisor);
        rest = low % divisor;
        if (first < 0 && limbs[i]) first = i;
    }
    highest = first;
    return rest;
}

// What to write: the number, over a divisor, or its limbs.
constexpr u64 AS_LIMBS = 0;

template <class S, typename R>
__device__ void write(Whole<S::LIMBS>& whole, u64 marks, void* out, u64 divisor) {
    constexpr int LIMBS = S::LIMBS, BELOW = 2; // zeros below the lowest limb
    __shared__ unsigned int memory[BELOW + LIMBS];
    int lane = threadIdx.x % WARP;
    // Fields of 16 bits: how many blocks have set a mark.
    unsigned int set = (marks & 0xffff ? 1 : 0) | (marks >> 16 & 0xffff ? 2 : 0) | (marks >> 32 ? 4 : 0);
    bool negative = whole.is_negative();
    unsigned int* limbs = memory + BELOW;
    if (divisor == AS_LIMBS) {
        limbs = static_cast<unsigned int*>(out) + 1;
        if (lane == 0) limbs[-1] = set;
    } else {
        if (negative) whole.negate();
        if (lane < BELOW) memory[lane] = 0;
    }
    for (unsigned int j = 0; j < whole.EACH; j++) {
        int i = whole.first() + j;
        if (i < LIMBS) limbs[i] = set & 6 ? 0 : static_cast<unsigned int>(whole.limb[j]);
    }
    if (divisor == AS_LIMBS) return;
    __syncwarp();
    int highest = -1, lowest = LIMBS;
    for (unsigned int j = 0; j < whole.EACH; j++) {
        int i = whole.first() + j;
        if (i >= LIMBS || whole.limb[j] == 0) continue;
        highest = i;
        lowest = min(lowest, i);
    }
    highest = __reduce_max_sync(FULL, highest);
    lowest = __reduce_min_sync(FULL, lowest);
    if (lane > 0) return;
    u64 rest = divisor > 1 ? divide(limbs, highest, divisor) : 0;
    R& result = *static_cast<R*>(out);
    if (set & 6) {
        unsigned int bits = set >= 6 ? 0x7fffffff : set & 2 ? 0x7f800000 : 0xff800000;
        result = __uint_as_float(bits);
    } else if (highest < 0) {
        result = set == 0 || (rest && negative) ? -R(0) : R(0);
    } else {
        u64 bits = static_cast<u64>(limbs[highest]) << 32 | limbs[highest - 1];
        unsigned int next = limbs[highest - 2];
        int zeros = __clzll(bits);
        bits = bits << zeros | static_cast<u64>(next) << zeros >> 32;
        // Below its third limb a quotient is 0 if rest and dividend are.
        bool more = rest || next << zeros || lowest < highest - 2;
        result = nearest<R>(bits, more, 32 * highest + 31 - zeros + S::UNIT, negative);
    }
}

// ANCHOR: exact
template <class Op, unsigned int BLOCK, unsigned int UNROLL, Ways WAYS>
__device__ void exact(const typename Op::In* in, const typename Op::In* other,
                      void* out, u64 n, u64* state, u64 divisor) {
    using A = Share<Op, BLOCK, UNROLL, WAYS>;
    using S = typename A::S;
    extern __shared__ __align__(16) unsigned char memory[];
    auto slots = reinterpret_cast<typename S::Slot*>(memory);
    __shared__ Found<S> found;
    __shared__ unsigned int marks[WARP];
    unsigned int lane = threadIdx.x % WARP;

    A share{slots + threadIdx.x, state};
    share.all(in, other, n);
    share.marks.witness += S::witness(share.mine);
    unsigned int mine = __reduce_or_sync(FULL, share.marks.bits());
    if (lane == 0) marks[threadIdx.x / WARP] = mine;
    __syncthreads();
    collect<S, BLOCK>(slots, found);
    __syncthreads();

    if (threadIdx.x >= WARP) return;
    mine = __reduce_or_sync(FULL, lane < BLOCK / WARP ? marks[lane] : 0);
    auto whole = whole_of<S>(found);
    u64 of_block = (mine & 1) | (mine & 2) << 15 | u64(mine & 4) << 30;
    if (meet<S::LIMBS>(whole, of_block, state))
        write<S, typename Op::Out>(whole, of_block, out, divisor);
}
// ANCHOR_END: exact

// ANCHOR: entries
#define EXACT(OPERATOR, OP, T, TYPE, WAYS, NAME, BLOCK, UNROLL, RESIDENT) \
    extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT) \
    exact##OP##_##NAME##_t##BLOCK##u##UNROLL##_##TYPE( \
        const T* in, const T* other, void* out, u64 n, u64* state, u64 divisor) { \
        exact<OPERATOR<T>, BLOCK, UNROLL, WAYS>(in, other, out, n, state, divisor); \
    }
EXACT(Sum, , float, f32, ONE_TILE, tile, 32, 4, 16)
EXACT(Sum, , float, f32, ONE_TILE, tile, 288, 4, 4)
EXACT(Sum, , float, f32, ONE_TILE, tile, 512, 4, 2)
EXACT(Sum, , float, f32, ROLLING, tiles, 384, 4, 3)
EXACT(Sum, , bf16, bf16, MANY_TILES, tiles, 512, 3, 2)
EXACT(Sum, , f16, f16, MANY_TILES, tiles, 512, 4, 2)
EXACT(Sum, , double, f64, MANY_TILES, tiles, 192, 6, 2)
EXACT(Dot, _dot, float, f32, ROLLING, tiles, 192, 4, 2)
EXACT(Dot, _dot, bf16, bf16, MANY_TILES, tiles, 192, 2, 2)
EXACT(Dot, _dot, f16, f16, MANY_TILES, tiles, 384, 3, 2)
EXACT(Dot, _dot, double, f64, MANY_TILES, tiles, 192, 2, 1)
EXACT(SumOfSquares, _sumsq, float, f32, ROLLING, tiles, 192, 4, 2)
EXACT(SumOfSquares, _sumsq, bf16, bf16, MANY_TILES, tiles, 192, 2, 2)
EXACT(SumOfSquares, _sumsq, f16, f16, MANY_TILES, tiles, 384, 3, 2)
EXACT(SumOfSquares, _sumsq, double, f64, MANY_TILES, tiles, 192, 2, 1)
// ANCHOR_END: entries
