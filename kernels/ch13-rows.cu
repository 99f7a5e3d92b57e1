// Chapter 13, for programs: exact sums of many rows at once, of columns and of ragged rows.
//
// Idea.   A thread holds its share of a row in slots of its own, as in ch13-accuracy.cu. A group of lanes shares a
//         row: the shorter it is, the fewer they are, because each lane's slots have to be cleared and brought
//         together. Sums of floats then wait, so that a warp rounds many of them at once, a lane each. bf16 have
//         smaller slots, and f16 none: a double in a register rounds nothing. Parts of a
//         long row, or of columns, meet as integers in global memory, in any order.
// Limit.  Shared memory: one float costs it 16 bytes, and a lane's share of a row 288 bytes beside them.
// Worked. A row of 1,024 floats. 32 lanes clear and read 32 * 288 = 9,216 bytes of slots for 4,096 bytes of input,
//         8 lanes 2,304.

#include "elements.cuh"

constexpr unsigned int WARP = 32;
constexpr unsigned int FULL = 0xffffffff; // all lanes of a warp; the largest limb
using u64 = unsigned long long;

// ---- a thread's sum ----

// What is left of the places below, with its sign, while limbs are taken from it. It is also a place's sum.
struct FloatRest {
    u64 low = 0;
    int over = 0;
    __device__ void add(u64 x, int x_over) {
        asm("add.cc.u64 %0, %0, %2;\n\taddc.s32 %1, %1, %3;" : "+l"(low), "+r"(over) : "l"(x), "r"(x_over));
    }
    __device__ void subtract(u64 x, int x_over) {
        asm("sub.cc.u64 %0, %0, %2;\n\tsubc.s32 %1, %1, %3;" : "+l"(low), "+r"(over) : "l"(x), "r"(x_over));
    }
    template <class Total> __device__ void add(const Total& sum, unsigned int side) {
        if (side) subtract(sum.low, static_cast<int>(sum.over));
        else add(sum.low, static_cast<int>(sum.over));
    }
    __device__ unsigned int limb() {
        unsigned int lowest = static_cast<unsigned int>(low);
        low = low >> 32 | static_cast<u64>(static_cast<unsigned int>(over)) << 32;
        over >>= 31;
        return lowest;
    }
};

// Slots of 64 bits for numbers of one sign and 32 exponents, and two for what a carry takes up from the highest. They
// lie in shared memory as [slot][thread]. ch13-accuracy.cu has the reasons.
template <unsigned int BLOCK> struct FloatSlots {
    using Slot = u64;
    // The sum of a slot over lanes, with what is over 64 bits.
    struct Total { u64 low, over; };
    static constexpr unsigned int SLOTS = 18, PLACES = 9, SIDES = 2;
    static constexpr unsigned int STEP = 1, LIMBS = 11;
    static constexpr unsigned int FEW = 16; // slots in use before a carry
    static constexpr int UNIT = -150;
    static constexpr unsigned int CARRY_AFTER = 511; // 2^24 2^31 2^9 = 2^64
    static constexpr unsigned int LEFT = 1; // what a carry leaves is less than one addition
    static constexpr bool HAS_WITNESS = false;

    static __device__ void add(Slot* mine, float x) {
        unsigned int bits = __float_as_uint(x);
        unsigned int power = 1u << (bits >> 23 & 31);
        unsigned int fraction = bits & 0x7fffff;
        unsigned int integer = fraction + (bits & 0x7f800000 ? 0x800000 : fraction);
        Slot& slot = mine[(bits >> 28) * BLOCK];
        slot += static_cast<u64>(integer) * power;
    }
    // The upper half of each slot goes to the next.
    static __device__ void carry(Slot* mine) {
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
    static __device__ unsigned int slot_at(unsigned int place, unsigned int side) {
        return place < 8 ? 8 * side + place : 16 + side;
    }
    static __device__ void add(Total& sum, Slot slot) {
        asm("add.cc.u64 %0, %0, %2;\n\taddc.u64 %1, %1, 0;" : "+l"(sum.low), "+l"(sum.over) : "l"(slot));
    }
    static __device__ void add(Total& sum, const Total& other) {
        add(sum, other.low);
        sum.over += other.over;
    }
    static __device__ Slot slot_of(u64 over) { return over; }
    static __device__ u64 over_of(Slot slot) { return slot; }

    using Rest = FloatRest;
    // The sum of a place over threads, positive numbers less negative ones.
    struct Partial {
        Rest sum;
        __device__ void add(const Slot* slot, unsigned int place) {
            sum.add(slot[slot_at(place, 0) * BLOCK], 0);
            sum.subtract(slot[slot_at(place, 1) * BLOCK], 0);
        }
        __device__ Rest rest(unsigned int) const { return sum; }
    };
};

// The same for doubles: 128 bits with a sign, each for 64 exponents.
struct __align__(16) Int128 { u64 low, high; };
template <unsigned int BLOCK> struct DoubleSlots {
    using Slot = Int128;
    struct Total { u64 low, high, over; };
    static constexpr unsigned int SLOTS = 33, PLACES = 33, SIDES = 1;
    static constexpr unsigned int STEP = 2, LIMBS = 67;
    static constexpr unsigned int FEW = SLOTS;
    static constexpr int UNIT = -1075;
    static constexpr unsigned int CARRY_AFTER = 2047; // 2^53 2^63 2^11 = 2^127
    static constexpr unsigned int LEFT = 1;
    static constexpr bool HAS_WITNESS = false;

    static __device__ Int128 sum_of(Int128 a, u64 low, u64 high) {
        asm("add.cc.u64 %0, %0, %2;\n\taddc.u64 %1, %1, %3;" : "+l"(a.low), "+l"(a.high) : "l"(low), "l"(high));
        return a;
    }
    static __device__ void add(Slot* mine, double x) {
        constexpr long long ONE = 1ll << 52;
        long long bits = __double_as_longlong(x), integer = bits & (ONE - 1);
        unsigned int exponent = __double2hiint(x) >> 20 & 0x7ff;
        if (exponent) integer |= ONE;
        else exponent = 1;
        if (bits < 0) integer = -integer;
        unsigned int shift = exponent & 63;
        u64 low = static_cast<u64>(integer) << shift, high;
        // In PTX a shift by 64 leaves the sign.
        asm("shr.s64 %0, %1, %2;" : "=l"(high) : "l"(integer), "r"(64 - shift));
        Slot& slot = mine[(exponent >> 6) * BLOCK];
        slot = sum_of(slot, low, high);
    }
    static __device__ void carry(Slot* mine) {
        u64 low = 0, high = 0;
#pragma unroll 1
        for (unsigned int place = 0; place < SLOTS; place++) {
            Slot sum = sum_of(mine[place * BLOCK], low, high);
            low = sum.high;
            high = sign_of(sum.high);
            if (place + 1 < SLOTS) sum.high = 0;
            mine[place * BLOCK] = sum;
        }
    }
    static __device__ u64 sign_of(u64 high) { return static_cast<u64>(static_cast<long long>(high) >> 63); }
    static __device__ unsigned int slot_at(unsigned int place, unsigned int) { return place; }
    static __device__ void add(Total& sum, Slot slot) {
        add(sum, Total{slot.low, slot.high, sign_of(slot.high)});
    }
    static __device__ void add(Total& sum, const Total& other) {
        asm("add.cc.u64 %0, %0, %3;\n\taddc.cc.u64 %1, %1, %4;\n\taddc.u64 %2, %2, %5;"
            : "+l"(sum.low), "+l"(sum.high), "+l"(sum.over) : "l"(other.low), "l"(other.high), "l"(other.over));
    }
    static __device__ Slot slot_of(u64 over) { return {over, 0}; }
    static __device__ u64 over_of(Slot slot) { return slot.low; }
    struct Rest {
        Total left = {};
        __device__ void add(const Total& sum, unsigned int) { DoubleSlots::add(left, sum); }
        __device__ unsigned int limb() {
            unsigned int lowest = static_cast<unsigned int>(left.low);
            left.low = left.low >> 32 | left.high << 32;
            left.high = left.high >> 32 | left.over << 32;
            left.over = static_cast<u64>(static_cast<long long>(left.over) >> 32);
            return lowest;
        }
    };
};

__device__ double two_to(int power) { return __hiloint2double((power + 1023) << 20, 0); }

// The same for rows of bf16: a slot is a float, for numbers of either sign and 8 exponents. It holds 2^9 of them,
// integers of 8 bits, without rounding. They are scaled down, to keep their sums below infinity.
template <unsigned int BLOCK> struct ShortSlots {
    using Slot = float;
    using Rest = FloatRest;
    static constexpr unsigned int A_PLACE = 4, PLACES = 9, STEP = 1, LIMBS = 11;
    static constexpr unsigned int SLOTS = A_PLACE * PLACES, FEW = 32;
    static constexpr int UNIT = -150;
    static constexpr unsigned int CARRY_AFTER = 511; // 2^8 2^7 2^9 = 2^24
    static constexpr unsigned int LEFT = 3;
    // An infinity or NaN is in the slot of the largest exponents.
    static constexpr bool HAS_WITNESS = true;
    static constexpr unsigned int WITNESS = FEW - 1;

    static __device__ void add(Slot* mine, float x) {
        Slot& slot = mine[(__float_as_uint(x) >> 26 & 31) * BLOCK];
        slot = fmaf(x, 0x1p-16f, slot);
    }
    // The unit of a slot is 2 to this power.
    static __device__ int power(unsigned int s) { return UNIT + static_cast<int>(8 * s); }
    // What is a multiple of the next slot's unit goes there. An infinity stays.
    static __device__ __noinline__ void carry(Slot* mine) {
        double below = 0;
#pragma unroll 1
        for (unsigned int s = 0; s < SLOTS; s++) {
            double number = mine[s * BLOCK];
            double rounder = two_to(power(s + 1) + 52) * 1.5;
            bool stays = s + 1 == SLOTS || number - number != 0;
            double up = stays ? 0 : number + rounder - rounder;
            mine[s * BLOCK] = static_cast<float>(number - up + below);
            below = up;
        }
    }
    struct Partial {
        double of[A_PLACE] = {};
        __device__ void add(const Slot* slot, unsigned int place) {
            for (unsigned int k = 0; k < A_PLACE; k++) of[k] += slot[(A_PLACE * place + k) * BLOCK];
        }
        // Undoes the scale of 2^-16, too.
        __device__ Rest rest(unsigned int place) const {
            long long sum = 0;
            for (unsigned int k = 0; k < A_PLACE; k++)
                sum += static_cast<long long>(of[k] * two_to(-power(A_PLACE * place + k))) << 8 * k;
            Rest rest;
            rest.add(static_cast<u64>(sum) << 16, static_cast<int>(sum >> 48));
            return rest;
        }
    };
};

// Rows of f16 need no slots: a double in a register holds 2^13 of them without rounding, integers below 2^40 times
// 2^-24.
template <unsigned int BLOCK> struct NoSlots {
    using Slot = double;
    using Rest = FloatRest;
    static constexpr unsigned int SLOTS = 0, PLACES = 9, STEP = 1, LIMBS = 11;
    static constexpr int UNIT = -150;
};

// What no integer says: whether there was a NaN or an infinity, and whether all numbers were negative, -0 among them.
template <typename V> struct Marks {
    V witness = 0;
    unsigned int signs = FULL;
    // Scaled down, finite numbers add up to none that is infinite.
    __device__ void note(float x) {
        witness = fmaf(x, 0x1p-60f, witness);
        signs &= __float_as_uint(x);
    }
    __device__ void note(double x) {
        witness = fma(x, 0x1p-60, witness);
        signs &= __double2hiint(x);
    }
    // Some number is not negative; not all are below +infinity, or above -infinity. A NaN is neither.
    __device__ unsigned int bits() {
        constexpr V MOST = sizeof(V) == 4 ? V(3.4028234663852886e38) : V(1.7976931348623157e308);
        return (signs >> 31 ? 0 : 1) | (witness <= MOST ? 0 : 2) | (witness >= -MOST ? 0 : 4);
    }
};

template <class S, unsigned int BLOCK, typename V> struct Held {
    typename S::Slot* mine;
    Marks<V> marks;
    unsigned int added = 0;
    bool has_carried = false;

    // For the next sum. Few slots are in use before a carry.
    __device__ void clear(bool all) {
#pragma unroll
        for (unsigned int s = 0; s < S::SLOTS; s++)
            if (s < S::FEW || all) mine[s * BLOCK] = typename S::Slot();
        marks = Marks<V>();
        added = 0;
        has_carried = false;
    }
    // Carries before so many additions if they might overflow a slot.
    __device__ void room_for(unsigned int count) {
        added += count;
        if (added <= S::CARRY_AFTER) return;
        S::carry(mine);
        added = count + S::LEFT;
        has_carried = true;
    }
    __device__ void take(V x) {
        if constexpr (S::HAS_WITNESS) marks.signs &= __float_as_uint(x);
        else marks.note(x);
        S::add(mine, x);
    }
    __device__ unsigned int bits() {
        if constexpr (S::HAS_WITNESS) marks.witness = mine[S::WITNESS * BLOCK];
        return marks.bits();
    }
};
// Infinities, NaNs and the sign of zeros are those of the double's sum.
template <unsigned int BLOCK> struct Held<NoSlots<BLOCK>, BLOCK, float> {
    double* mine;
    double sum = -0.0;
    FloatRest whole; // what was taken from the sum, in units of 2^-24
    unsigned int added = 0, set = 0;
    bool has_carried = false;

    __device__ void clear(bool) {
        sum = -0.0;
        whole = FloatRest();
        added = set = 0;
    }
    __device__ void room_for(unsigned int count) {
        added += count;
        if (added <= 1 << 13) return;
        flush();
        added = count;
    }
    __device__ void take(float x) { sum += x; }
    __device__ void flush() {
        bits();
        long long integer = static_cast<long long>(sum * 0x1p24);
        whole.add(static_cast<u64>(integer), static_cast<int>(integer >> 63));
        sum = -0.0;
    }
    __device__ unsigned int bits() {
        constexpr double MOST = 0x1p29; // 2^13 2^16
        bool is_minus_zero = __double_as_longlong(sum) == 1ll << 63;
        set |= (is_minus_zero ? 0 : 1) | (sum <= MOST ? 0 : 2) | (sum >= -MOST ? 0 : 4);
        return set;
    }
};

// ---- sums of threads, and the one rounding ----

// A value of the lane 16 lanes on, word by word.
template <typename V> __device__ V of_other_half(V mine) {
    unsigned int words[sizeof(V) / sizeof(unsigned int)];
    memcpy(words, &mine, sizeof(mine));
    for (unsigned int& word : words) word = __shfl_xor_sync(FULL, word, WARP / 2);
    memcpy(&mine, words, sizeof(mine));
    return mine;
}
// Brings the slots of `count` threads together, a power of two, which are `apart` from each other. Each of these
// threads calls it with its number `me` among them; 32 are a whole warp. The sum of a slot is then in the first
// thread's, and what is over in the second's.
template <class S, unsigned int BLOCK>
__device__ void merge(typename S::Slot* slots, unsigned int first, unsigned int apart, unsigned int count,
                      unsigned int me, bool has_carried) {
    unsigned int used = has_carried ? S::SLOTS : S::FEW;
    // Two lanes share a slot of 32 threads.
    unsigned int each = min(count, WARP / 2);
#pragma unroll 1
    for (unsigned int k = 0; k < used; k += each) {
        unsigned int s = k + me % each;
        typename S::Slot* slot = slots + s * BLOCK + first;
        typename S::Total sum = {};
#pragma unroll 8
        for (unsigned int i = 0; i < each; i++) {
            // Each begins with its own, so that no two read one bank.
            if (s < used) S::add(sum, slot[((i + me & each - 1) + (me & each & WARP / 2)) * apart]);
        }
        if (count == WARP) S::add(sum, of_other_half(sum));
        if (s >= used || me >= each) continue;
        memcpy(slot, &sum, sizeof(*slot));
        slot[apart] = S::slot_of(sum.over);
    }
}

// Limbs of a whole number that come by, from the lowest to the highest, as two's complement. It keeps the four
// highest that matter: from the last one that is not just the sign of the one below it.
struct Limbs {
    unsigned int last[4] = {}, kept[4] = {};
    bool is_below = false, more = false; // whether anything is below those four
    int count = 0, at = -1;
    __device__ void take(unsigned int limb) {
        is_below |= last[3] != 0;
        for (unsigned int k = 3; k > 0; k--) last[k] = last[k - 1];
        last[0] = limb;
        if (limb != static_cast<unsigned int>(static_cast<int>(last[1]) >> 31)) {
            for (unsigned int k = 0; k < 4; k++) kept[k] = last[k];
            more = is_below;
            at = count;
        }
        count++;
    }
};

// Rounds to the nearest, ties to even. The first of 64 bits is a one, worth 2^exponent, and more says whether anything
// is below them.
template <typename R> __device__ R nearest(u64 bits, bool more, int exponent, bool negative) {
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
    if (IS_FLOAT) return __uint_as_float(static_cast<unsigned int>(stored | u64(negative) << 31));
    return __longlong_as_double(stored | u64(negative) << 63);
}

// The number over a divisor below 2^40, rounded. Of a quotient at least 55 bits are in what is kept: 96 are before it.
template <class S, typename R>
__device__ R rounded(const Limbs& limbs, unsigned int set, u64 divisor) {
    if (set & 6) return __uint_as_float(set >= 6 ? 0x7fffffff : set & 2 ? 0x7f800000 : 0xff800000);
    if (limbs.at < 0) return set == 0 ? -R(0) : R(0);
    u64 high = static_cast<u64>(limbs.kept[0]) << 32 | limbs.kept[1];
    u64 low = static_cast<u64>(limbs.kept[2]) << 32 | limbs.kept[3];
    bool more = limbs.more, negative = high >> 63;
    if (negative) {
        low = ~low + !more;
        high = ~high + (low == 0 && !more);
    }
    if (divisor > 1) {
        u64 rest = 0;
#pragma unroll 1
        for (int k = 0; k < 8; k++) { // 16 bits at a time
            rest = rest << 16 | high >> 48;
            high = high << 16 | low >> 48;
            low = low << 16 | rest / divisor;
            rest %= divisor;
        }
        more |= rest != 0;
    }
    int zeros = high ? __clzll(high) : 64 + __clzll(low);
    u64 bits = high ? high << zeros | (zeros ? low >> (64 - zeros) : 0) : low << (zeros - 64);
    more |= high && low << zeros;
    return nearest<R>(bits, more, 127 - zeros + 32 * (limbs.at - 3) + S::UNIT, negative);
}

// Sums that come in parts. Each sum has words that its parts add to, a limb in each, and one that counts the parts and
// their marks: they are 0 before a launch and after it, and lie `apart` words from each other.
struct Meeting {
    u64* words;
    u64 apart;
    unsigned int parts;
};
constexpr u64 ONE_MORE = 1ull << 48;

// The places of a sum that is in the slots of a thread, or of two; where more threads have merged theirs, the second's
// are what went over.
template <class S, unsigned int BLOCK, unsigned int THREADS = 1> struct InSlots {
    const typename S::Slot* slot;
    unsigned int apart;
    bool is_merged, has_carried;
    __device__ void add(typename S::Rest& rest, unsigned int place) const {
        for (unsigned int side = 0; side < S::SIDES; side++) {
            unsigned int s = S::slot_at(place, side);
            if (s >= S::FEW && !has_carried) continue;
            typename S::Total sum = {};
            S::add(sum, slot[s * BLOCK]);
            if (THREADS > 1) S::add(sum, slot[s * BLOCK + apart]);
            else if (is_merged) sum.over = S::over_of(slot[s * BLOCK + apart]);
            rest.add(sum, side);
        }
    }
};

// A sum, place by place, to its result.
template <class S, typename R, class Places>
__device__ void finish(const Places& places, unsigned int set, const Meeting& meeting, u64 elements, bool is_mean,
                       R* out) {
    Limbs limbs;
    typename S::Rest rest;
    auto step = [&]() {
        unsigned int limb = rest.limb();
        if (meeting.parts > 1) atomicAdd(meeting.words + limbs.count * meeting.apart, u64(limb));
        limbs.take(limb);
    };
    constexpr unsigned int AT_ONCE = sizeof(R) == 4 ? S::PLACES : 3;
#pragma unroll AT_ONCE
    for (unsigned int place = 0; place < S::PLACES; place++) {
        places.add(rest, place);
        for (unsigned int k = 0; k < S::STEP; k++) step();
    }
    for (unsigned int k = S::PLACES * S::STEP; k < S::LIMBS; k++) step();

    if (meeting.parts > 1) {
        u64 mine = ONE_MORE | (set & 1) | (set & 2) << 15 | u64(set & 4) << 30;
        __threadfence();
        u64 all = atomicAdd(meeting.words + S::LIMBS * meeting.apart, mine) + mine;
        if (all / ONE_MORE < meeting.parts) return;
        __threadfence();
        set = (all & 0xffff ? 1 : 0) | (all >> 16 & 0xffff ? 2 : 0) | (all >> 32 & 0xffff ? 4 : 0);
        limbs = Limbs();
        u64 up = 0;
#pragma unroll S::LIMBS < 16 ? S::LIMBS : 1
        for (unsigned int i = 0; i < S::LIMBS; i++) {
            volatile u64* word = meeting.words + i * meeting.apart;
            up += *word;
            *word = 0;
            limbs.take(static_cast<unsigned int>(up));
            up >>= 32;
        }
        meeting.words[S::LIMBS * meeting.apart] = 0;
    }
    if (elements == 0) *out = is_mean ? R(__uint_as_float(0x7fffffff)) : R(0);
    else *out = rounded<S, R>(limbs, set, is_mean ? elements : 1);
}

// ---- work on rows ----

template <typename T> struct Elements { T x[PER_VECTOR<T>]; };

// A lane's part of what a group of lanes takes of a row: of its vectors, of which the next are on their way while
// some are added, and of the elements before the first multiple of 16 bytes and behind the last vector.
template <typename T, unsigned int UNROLL> struct Tile {
    uint4 v[UNROLL];
    unsigned int count;
};
template <typename T> struct Stretch {
    const T* begin;
    const uint4* at;
    u64 left, vectors; // the lane's; all
    unsigned int head, odd; // odd elements: head and tail
    __device__ Stretch(const T* begin, u64 count, unsigned int me, unsigned int lanes) : begin(begin) {
        unsigned int past = static_cast<unsigned int>(reinterpret_cast<u64>(begin) / sizeof(T));
        head = static_cast<unsigned int>(min(static_cast<u64>((0 - past) % PER_VECTOR<T>), count));
        vectors = (count - head) / PER_VECTOR<T>;
        odd = static_cast<unsigned int>(count - vectors * PER_VECTOR<T>);
        at = reinterpret_cast<const uint4*>(begin + head) + me;
        // A power of two.
        left = vectors + lanes - 1 - me >> 31 - __clz(lanes);
    }
    template <unsigned int UNROLL> __device__ void load(Tile<T, UNROLL>& tile, unsigned int lanes) {
        tile.count = static_cast<unsigned int>(min(left, static_cast<u64>(UNROLL)));
#pragma unroll
        for (unsigned int k = 0; k < UNROLL; k++)
            if (k < tile.count) tile.v[k] = load_vector(at + k * lanes);
        at += UNROLL * lanes;
        left -= tile.count;
    }
};

// Lane `me` of `lanes` adds its part, of which the first tile has been loaded.
template <typename T, unsigned int UNROLL, class H>
__device__ void add_part(H& held, Stretch<T>& piece, Tile<T, UNROLL>& tile, unsigned int me, unsigned int lanes) {
#pragma unroll 1
    while (tile.count) {
        Tile<T, UNROLL> next;
        piece.load(next, lanes);
        held.room_for(UNROLL * PER_VECTOR<T>);
#pragma unroll
        for (unsigned int k = 0; k < UNROLL; k++) {
            uint4 v = tile.v[k];
            Elements<T> elements;
            memcpy(&elements, &v, sizeof(elements));
            if (k >= tile.count) continue;
#pragma unroll
            for (unsigned int j = 0; j < PER_VECTOR<T>; j++) held.take(widen(elements.x[j]));
        }
        tile = next;
    }
#pragma unroll 1
    for (unsigned int j = me; j < piece.odd; j += lanes) {
        held.room_for(1);
        held.take(widen(piece.begin[j < piece.head ? j : j + piece.vectors * PER_VECTOR<T>]));
    }
}

// Offsets of 32 or 64 bits.
struct Offsets {
    const void* begin;
    bool is_wide;
    __device__ u64 operator[](u64 i) const {
        return is_wide ? static_cast<const u64*>(begin)[i] : static_cast<const unsigned int*>(begin)[i];
    }
};
// All work on ragged rows is one list of steps: each element, and each end of a row. How many rows have ended in the
// first `steps` of it, found by a warp that tries 32 places at once.
__device__ u64 rows_ended(const Offsets& offsets, u64 rows, u64 elements, u64 steps) {
    u64 low = steps > elements ? steps - elements : 0, high = min(steps, rows);
    while (low < high) {
        u64 apart = (high - low + WARP - 1) / WARP, middle = low + threadIdx.x % WARP * apart;
        bool has_ended = middle < high && offsets[middle + 1] - offsets[0] < steps - middle;
        // The lanes below the place that the search is for.
        unsigned int ended = __popc(__ballot_sync(FULL, has_ended));
        high = ended ? min(high, low + ended * apart) : low;
        low = ended ? low + (ended - 1) * apart + 1 : low;
    }
    return low;
}

// A part of a row that a group of lanes adds up. Rows in several parts have a meeting.
template <typename T> struct Work {
    const T* begin = nullptr;
    u64 count = 0, row, elements; // of the part; of the whole row
    u64 meeting = 0;
    unsigned int lanes = 1, parts = 0; // no parts: nothing to do
};

// What a warp takes, in units: of rows of one length a batch, one for each group of lanes, or a part of one row; of
// ragged rows those that are in `length` steps.
template <typename T> struct Share {
    const T* in;
    Offsets offsets;
    u64 rows, cols, pitch, length, units, unit;
    unsigned int lanes, parts, warps;
    u64 row, end, from, to; // rows; steps
    unsigned int too_long; // rows of the batch, a bit for the first lane of each

    __device__ void begin() {
        if (!offsets.begin) {
            u64 batch = WARP / lanes;
            row = parts > 1 ? unit / parts : unit * batch;
            end = min(row + (parts > 1 ? 1 : batch), rows);
            row -= batch;
            return;
        }
        // Offsets may end before the elements that the units are for.
        u64 elements = offsets[rows] - offsets[0], steps = elements + rows;
        from = min(unit * length, steps);
        to = min(from + length, steps);
        row = rows_ended(offsets, rows, elements, from);
        end = rows_ended(offsets, rows, elements, to);
        // The row that goes on behind the last of these steps.
        if (end < rows && offsets[end] - offsets[0] + end < to) end++;
        // Some 128 elements a lane.
        u64 each = (to - from) / (max(end - row, 1ull) * 128);
        lanes = each >= WARP ? WARP : each < 2 ? 1 : WARP >> (__clz(static_cast<unsigned int>(each)) - 26);
        row -= WARP / lanes;
    }
    // The work of this lane's group, row after row. False in all lanes of a warp that has none left.
    __device__ bool next(Work<T>& work) {
        unsigned int lane = threadIdx.x % WARP;
        if (too_long) { // by the whole warp, one by one
            work = of_row(row + (__ffs(too_long) - 1) / lanes);
            too_long &= too_long - 1;
            work.lanes = WARP;
            return true;
        }
        row += WARP / lanes;
        while (row >= end) {
            unit += warps;
            if (unit >= units) return false;
            begin();
            row += WARP / lanes;
        }
        work = of_row(row + lane / lanes);
        work.lanes = lanes;
        if (!offsets.begin || lanes == WARP) return true;
        bool is_long = work.parts && work.count > 256 * lanes;
        too_long = __ballot_sync(FULL, is_long && lane % lanes == 0);
        if (is_long) work.parts = 0;
        return true;
    }
    __device__ Work<T> of_row(u64 row) const {
        Work<T> work;
        work.row = row;
        if (row >= end) return work;
        work.parts = 1;
        if (!offsets.begin) {
            u64 at = parts > 1 ? unit % parts * length : 0;
            work.parts = parts;
            work.begin = in + row * pitch + at;
            work.count = parts > 1 ? min(length, cols - at) : cols;
            work.elements = cols;
            work.meeting = row;
            return work;
        }
        u64 begins = offsets[row], ends = offsets[row + 1];
        u64 first_step = begins - offsets[0] + row, last_step = ends - offsets[0] + row;
        u64 before = max(first_step, from) - first_step;
        work.begin = in + begins + before;
        work.count = min(last_step, to) - first_step - before;
        work.elements = ends - begins;
        if (first_step < from || last_step >= to) {
            work.meeting = min(first_step / length, unit);
            work.parts = static_cast<unsigned int>(last_step / length - first_step / length + 1);
        }
        return work;
    }
};

// ---- sums of floats that wait to be rounded ----

// The sums of a warp that wait, by place.
constexpr unsigned int WAITING = 16;
template <class S> struct Waiting {
    u64 low[S::PLACES][WAITING];
    int over[S::PLACES][WAITING];
    __device__ void put(unsigned int i, unsigned int place, const typename S::Rest& sum) {
        low[place][i] = sum.low;
        over[place][i] = sum.over;
    }
};

template <class Rest> __device__ Rest of_lane(const Rest& sum, unsigned int lane) {
    return {__shfl_sync(FULL, sum.low, lane), __shfl_sync(FULL, sum.over, lane)};
}
template <class Rest> __device__ void add_of(Rest& sum, unsigned int apart) {
    u64 low = __shfl_xor_sync(FULL, sum.low, apart);
    sum.add(low, __shfl_xor_sync(FULL, sum.over, apart));
}

// Brings the slots of groups of four lanes or more together: a sum for each group, from number `waiting` on. `slots` are
// those of the warp's first thread.
template <class S>
__device__ void merge_groups(const typename S::Slot* slots, unsigned int lanes, bool has_carried, Waiting<S>& sums,
                             unsigned int waiting) {
    constexpr unsigned int PLACES = S::PLACES - 1;
    unsigned int lane = threadIdx.x % WARP, me = lane % lanes, i = waiting + lane / lanes;
    unsigned int each = min(lanes, PLACES);
#pragma unroll 1
    for (unsigned int place = me % PLACES; place < PLACES; place += each) {
        typename S::Partial partial;
        // Each begins with its own thread's, so that no two read one bank.
#pragma unroll PLACES
        for (unsigned int k = 0; k < each; k++)
            partial.add(slots + (lane & ~(each - 1)) + (k + me & each - 1), place);
        typename S::Rest sum = partial.rest(place);
        if (lanes > 8) add_of(sum, 8);
        if (lanes > 16) add_of(sum, 16);
        if (me < PLACES) sums.put(i, place, sum);
    }
    typename S::Rest above;
    if (has_carried) {
        typename S::Partial partial;
        partial.add(slots + lane, PLACES);
        above = partial.rest(PLACES);
        for (unsigned int apart = 1; apart < lanes; apart *= 2) add_of(above, apart);
    }
    if (me == 0) sums.put(i, PLACES, above);
}

// The places of a sum that is in the slots of a thread, or of two.
template <class S> struct InThreads {
    const typename S::Slot* slot;
    unsigned int threads;
    bool has_carried;
    __device__ void add(typename S::Rest& rest, unsigned int place) const {
        if (place + 1 == S::PLACES && !has_carried) return;
        typename S::Partial partial;
        partial.add(slot, place);
        if (threads > 1) partial.add(slot + 1, place);
        typename S::Rest sum = partial.rest(place);
        rest.add(sum.low, sum.over);
    }
};
// The places of a sum of f16, as two integers with a sign: 2^-24 is 2^30 in the fourth.
struct InRegister {
    FloatRest sum;
    __device__ void add(FloatRest& rest, unsigned int place) const {
        long long low = static_cast<long long>(sum.low), above = sum.over - (low >> 63);
        if (place == 3) rest.add(sum.low << 30, static_cast<int>(low >> 34));
        if (place == 5) rest.add(static_cast<u64>(above) << 30, static_cast<int>(above >> 34));
    }
};

// The places of the lane's sum among those that wait.
template <class S> struct InWaiting {
    const Waiting<S>* sums;
    __device__ void add(typename S::Rest& rest, unsigned int place) const {
        unsigned int lane = threadIdx.x % WARP;
        rest.add(sums->low[place][lane], sums->over[place][lane]);
    }
};

// ---- rows ----

// Forms of a launch, bits of one word.
constexpr unsigned int IS_MEAN = 1, HAS_WIDE_OFFSETS = 2;

// Where a sum goes.
struct Result {
    u64 row, elements, meeting;
    unsigned int parts = 0, set; // no parts: nowhere
    __device__ Result of_lane(unsigned int lane) const {
        Result other;
        other.row = __shfl_sync(FULL, row, lane);
        other.elements = __shfl_sync(FULL, elements, lane);
        other.meeting = __shfl_sync(FULL, meeting, lane);
        other.parts = __shfl_sync(FULL, parts, lane);
        other.set = __shfl_sync(FULL, set, lane);
        return other;
    }
};

template <class S, class Places, typename R>
__device__ void finish_row(const Places& places, const Result& result, unsigned int form, R* out, u64* state) {
    // Words of a row lie together.
    Meeting meeting = {state + result.meeting * (S::LIMBS + 1), 1, result.parts};
    finish<S, R>(places, result.set, meeting, result.elements, form & IS_MEAN, out + result.row);
}

// A block is one warp. Sums of one lane or two, and those of doubles, stay in their slots until they are rounded.
template <template <unsigned int> class Slots, typename T, typename R, unsigned int UNROLL>
__device__ void exact_rows(Share<T> share, R* out, unsigned int form, u64* state) {
    constexpr unsigned int BLOCK = WARP;
    using S = Slots<BLOCK>;
    constexpr bool WAIT = sizeof(R) == sizeof(float), HAS_SLOTS = S::SLOTS > 0;
    extern __shared__ __align__(16) unsigned char memory[];
    auto slots = reinterpret_cast<typename S::Slot*>(memory);
    Held<S, BLOCK, R> held;
    held.mine = slots + threadIdx.x;
    held.has_carried = true;
    unsigned int lane = threadIdx.x;
    auto waits = reinterpret_cast<Waiting<S>*>(slots + S::SLOTS * BLOCK);
    share.unit = blockIdx.x;
    share.unit -= share.warps; // modulo 2^64, as far as the first
    share.too_long = 0;
    share.row = share.end = 0;
    Work<T> work;
    Result result; // of the lane's sum, if it has one
    typename S::Rest sum; // where there are no slots
    unsigned int waiting = 0;
    unsigned int lanes_before = 0;
    bool has_carried = false;
    while (true) {
        bool has_work = share.next(work);
        unsigned int lanes = work.lanes, me = lane % lanes;
        Stretch<T> piece(work.begin, has_work && work.parts ? work.count : 0, me, lanes);
        Tile<T, UNROLL> tile;
        piece.load(tile, lanes);
        // While the first elements are on their way.
        if (!has_work || waiting == 0 || waiting + WARP / lanes > (HAS_SLOTS ? WAITING : WARP)) {
            if (result.parts) {
                if constexpr (!HAS_SLOTS) {
                    finish_row<S>(InRegister{sum}, result, form, out, state);
                } else if constexpr (WAIT) {
                    InThreads<S> in_threads = {held.mine, lanes_before, has_carried};
                    if (lanes_before > 2) finish_row<S>(InWaiting<S>{waits}, result, form, out, state);
                    else finish_row<S>(in_threads, result, form, out, state);
                } else {
                    InSlots<S, BLOCK> in_slots = {held.mine, 1, lanes_before > 2, has_carried};
                    InSlots<S, BLOCK, 2> in_two = {held.mine, 1, false, has_carried};
                    if (lanes_before == 2) finish_row<S>(in_two, result, form, out, state);
                    else finish_row<S>(in_slots, result, form, out, state);
                }
            }
            result.parts = 0;
            waiting = 0;
            __syncwarp();
        }
        if (!has_work) break;
        held.clear(__any_sync(FULL, held.has_carried));
        add_part<T, UNROLL>(held, piece, tile, me, lanes);

        unsigned int mine = held.bits(), set = 0;
        unsigned int group = (lanes < WARP ? (1u << lanes) - 1 : FULL) << (lane - me);
        for (unsigned int k = 0; k < 3; k++)
            set |= (__ballot_sync(FULL, mine >> k & 1) & group ? 1 : 0) << k;
        has_carried = __any_sync(FULL, held.has_carried);
        Result of_group = {work.row, work.elements, work.meeting, work.parts, set};
        __syncwarp();
        bool waits_here = WAIT && (!HAS_SLOTS || lanes > 2);
        if (!waits_here) {
            result = of_group;
            if (me > 0) result.parts = 0;
        }
        if constexpr (WAIT) {
            if (waits_here) {
                unsigned int group = lane - waiting;
                if constexpr (HAS_SLOTS) {
                    merge_groups<S>(slots, lanes, has_carried, *waits, waiting);
                } else {
                    held.flush();
                    for (unsigned int apart = 1; apart < lanes; apart *= 2) add_of(held.whole, apart);
                    typename S::Rest other = of_lane(held.whole, group * lanes % WARP);
                    if (group < WARP / lanes) sum = other;
                }
                of_group = of_group.of_lane(group * lanes % WARP);
                if (group < WARP / lanes) result = of_group;
                waiting += WARP / lanes;
            }
        } else if (lanes > 2) {
            merge<S, BLOCK>(slots, threadIdx.x - me, 1, lanes, me, has_carried);
        }
        lanes_before = lanes;
        __syncwarp();
    }
}

// ---- columns ----

// A warp has 32 columns, a lane each. `teams` warps of a block share the rows of a part of them. Blocks take units in
// turns: a part of the columns of a slice. Slices lie one behind the other.
template <template <unsigned int> class Slots, typename T, typename R, unsigned int BLOCK, unsigned int UNROLL>
__device__ void exact_columns(const T* in, R* out, u64 rows, u64 cols, u64 pitch, u64 slice, u64 slices,
                              unsigned int teams, unsigned int parts, unsigned int form, u64* state) {
    using S = Slots<BLOCK>;
    extern __shared__ __align__(16) unsigned char memory[];
    __shared__ unsigned int marks[BLOCK];
    auto slots = reinterpret_cast<typename S::Slot*>(memory);
    Held<S, BLOCK, R> held;
    held.mine = slots + threadIdx.x;
    bool has_carried = true;
    unsigned int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, me = warp % teams;
    unsigned int first = threadIdx.x - me * WARP;
    u64 wide = BLOCK / teams, tiles = (cols + wide - 1) / wide;
    for (u64 unit = blockIdx.x; unit < slices * tiles * parts; unit += gridDim.x) {
        u64 part = unit % parts, tile = unit / parts % tiles, at = unit / parts / tiles;
        u64 col = tile * wide + warp / teams * WARP + lane;
        // Shares that differ by one row at most, without a product of more than 64 bits.
        u64 each = rows / parts, over = rows % parts;
        u64 row = part * each + min(part, over), to = row + each + (part < over);
        row += me;
        u64 left = col < cols && row < to ? (to - row - 1) / teams + 1 : 0, step = teams * pitch;
        const T* from = in + at * slice + row * pitch + col;
        // As rows have it: the next are on their way while some are added.
        T x[UNROLL];
        unsigned int count = 0;
        auto load = [&](T(&x)[UNROLL]) {
            count = static_cast<unsigned int>(min(left, static_cast<u64>(UNROLL)));
            for (unsigned int k = 0; k < UNROLL; k++) {
                if (k < count) x[k] = *from;
                from += step;
            }
            left -= count;
        };
        load(x);
        held.clear(has_carried);
#pragma unroll 1
        while (count) {
            T next[UNROLL];
            unsigned int here = count;
            load(next);
            held.room_for(UNROLL);
            for (unsigned int k = 0; k < UNROLL; k++)
                if (k < here) held.take(widen(x[k]));
            memcpy(x, next, sizeof(x));
        }
        marks[threadIdx.x] = held.marks.bits();
        has_carried = __syncthreads_or(held.has_carried);
        if (teams > 1) merge<S, BLOCK>(slots, first, WARP, teams, me, has_carried);
        __syncthreads();
        if (me == 0 && col < cols) {
            unsigned int set = 0;
            for (unsigned int k = 0; k < teams; k++) set |= marks[first + k * WARP];
            u64 index = at * cols + col;
            Meeting meeting = {state + index, slices * cols, parts};
            InSlots<S, BLOCK> sum = {held.mine, WARP, teams > 1, has_carried};
            finish<S, R>(sum, set, meeting, rows, form & IS_MEAN, out + index);
        }
        __syncthreads();
    }
}

#define EXACT_ROWS(SLOTS, T, R, TYPE, UNROLL, RESIDENT) \
    extern "C" __global__ void __launch_bounds__(WARP, RESIDENT) exact_rows_t32u##UNROLL##_##TYPE( \
        const T* in, const void* offsets, R* out, u64 rows, u64 cols, u64 pitch, unsigned int lanes, \
        unsigned int parts, u64 length, u64 units, unsigned int form, u64* state) { \
        Share<T> share = {in, {offsets, (form & HAS_WIDE_OFFSETS) != 0}, rows, cols, pitch, length, units, 0, lanes, \
                          parts, gridDim.x}; \
        exact_rows<SLOTS, T, R, UNROLL>(share, out, form, state); }
EXACT_ROWS(FloatSlots, float, float, f32, 4, 20)
EXACT_ROWS(ShortSlots, bf16, float, bf16, 4, 20)
EXACT_ROWS(NoSlots, f16, float, f16, 8, 16)
EXACT_ROWS(DoubleSlots, double, double, f64, 4, 12)
#define EXACT_COLUMNS(SLOTS, T, R, TYPE, BLOCK, RESIDENT) \
    extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT) exact_columns_t##BLOCK##_##TYPE( \
        const T* in, R* out, u64 rows, u64 cols, u64 pitch, u64 slice, u64 slices, unsigned int teams, \
        unsigned int parts, unsigned int form, u64* state) { \
        exact_columns<SLOTS, T, R, BLOCK, 8>(in, out, rows, cols, pitch, slice, slices, teams, parts, form, state); }
EXACT_COLUMNS(FloatSlots, float, float, f32, 256, 4)
EXACT_COLUMNS(FloatSlots, bf16, float, bf16, 256, 4)
EXACT_COLUMNS(FloatSlots, f16, float, f16, 256, 4)
EXACT_COLUMNS(DoubleSlots, double, double, f64, 128, 3)
