// Chapter 9: any operator, any type. A reduction is a monoid and a machine that knows nothing of it.
//
// Idea.   An operator says four things: what it holds, what changes nothing, how two of these become
//         one, and what an element is to it. The machine brings elements and values together, and is
//         written once.
// Limit.  As chapter 8: the launch, a trip to memory each way, then bandwidth. Operators that do more for
//         a byte than there are instructions for it would be bound by those; none here is, on an H200.
// Worked. 2^28 signed bytes are 256 MiB, 16 in a load. Four dp4a add up a load, where an addition
//         for each byte, with what takes it out of its word, would be 32 instructions.

#include "elements.cuh"

constexpr unsigned int WARP = 32;
constexpr unsigned int LINE_BYTES = 128; // of the caches
constexpr unsigned int FULL = 0xffffffff; // all lanes of a warp
constexpr unsigned int NOWHERE = 0xffffffff; // the index of no element

// ANCHOR: types
// Elements, and the type in which they are computed with: int for bytes and
// shorts, float for 16-bit floats. No bit is lost.
__device__ int widen(signed char x) { return x; }
__device__ int widen(unsigned char x) { return x; }
__device__ int widen(short x) { return x; }
__device__ int widen(int x) { return x; }
__device__ unsigned int widen(unsigned int x) { return x; }
__device__ long long widen(long long x) { return x; }
template <typename T> using Wide = decltype(widen(T()));

// For values that T has.
template <typename T> __device__ T narrow(Wide<T> x) { return x; }
template <> __device__ f16 narrow<f16>(float x) {
    f16 half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half.bits) : "f"(x));
    return half;
}
template <>
__device__ bf16 narrow<bf16>(float x) {
    return {static_cast<unsigned short>(__float_as_uint(x) >> 16)};
}

// What a sum is held in: 64 bits for bytes and shorts, so that no array
// overflows it; ints and longs wrap, which unsigned numbers do by definition;
// a float for halves.
template <typename T> struct SumOf { using type = T; };
template <> struct SumOf<signed char> { using type = long long; };
template <> struct SumOf<unsigned char> { using type = long long; };
template <> struct SumOf<short> { using type = long long; };
template <> struct SumOf<int> { using type = unsigned int; };
template <> struct SumOf<long long> { using type = unsigned long long; };
template <> struct SumOf<f16> { using type = float; };
template <> struct SumOf<bf16> { using type = float; };
// ANCHOR_END: types

// ANCHOR: monoid
// An operator over elements of type T. The machine below may add the identity
// anywhere, any number of times, and may combine values in any order.
template <typename T>
struct Sum {
    using In = T;
    using Value = typename SumOf<T>::type;
    static __device__ Value identity() { return 0; }
    static __device__ Value lift(T x, unsigned int) { return widen(x); }
    static __device__ Value combine(Value a, Value b) { return a + b; }
};
// ANCHOR_END: monoid
template <typename T>
struct Product {
    using In = T;
    using Value = typename SumOf<T>::type;
    static __device__ Value identity() { return 1; }
    static __device__ Value lift(T x, unsigned int) { return widen(x); }
    static __device__ Value combine(Value a, Value b) { return a * b; }
};
template <typename T>
struct SumOfSquares : Sum<T> {
    using typename Sum<T>::Value;
    static __device__ Value lift(T x, unsigned int) { return static_cast<Value>(widen(x)) * widen(x); }
};
// The root of that, taken on the way out.
template <typename T> struct L2Norm : SumOfSquares<T> {};
// How many elements are above 0.
template <typename T>
struct Count {
    using In = T;
    using Value = unsigned int;
    static __device__ Value identity() { return 0; }
    static __device__ Value lift(T x, unsigned int) { return widen(x) > 0; }
    static __device__ Value combine(Value a, Value b) { return a + b; }
};
template <typename T>
struct Dot : Sum<T> {
    using typename Sum<T>::Value;
    static __device__ Value lift(T x, T y) { return static_cast<Value>(widen(x)) * widen(y); }
};
// Whether an element is not 0, or all are; a NaN is not.
template <typename T, bool ALL>
struct Truth {
    using In = T;
    using Value = unsigned int;
    static __device__ Value identity() { return ALL; }
    static __device__ Value lift(T x, unsigned int) { return widen(x) != 0; }
    static __device__ Value combine(Value a, Value b) { return ALL ? a & b : a | b; }
};
template <typename T> using Any = Truth<T, false>;
template <typename T> using All = Truth<T, true>;
template <typename T, char WHICH>
struct BitWise {
    using In = T;
    using Value = T;
    static __device__ Value identity() { return WHICH == '&' ? ~T(0) : T(0); }
    static __device__ Value lift(T x, unsigned int) { return x; }
    static __device__ Value combine(Value a, Value b) {
        return WHICH == '&' ? a & b : WHICH == '|' ? a | b : a ^ b;
    }
};

template <typename T> using And = BitWise<T, '&'>;
template <typename T> using Or = BitWise<T, '|'>;
template <typename T> using Xor = BitWise<T, '^'>;

// What changes nothing: the end of a type that everything is better than. Of floats where a NaN is passed
// over, that is a NaN itself: minus infinity would be a wrong answer for NaNs alone.
// ANCHOR: extremes
template <bool MAX>
__device__ int worst(int) {
    return MAX ? -2147483647 - 1 : 2147483647;
}
template <bool MAX>
__device__ unsigned int worst(unsigned int) {
    return MAX ? 0 : 0xffffffff;
}
template <bool MAX> __device__ long long worst(long long) {
    return MAX ? -9223372036854775807ll - 1 : 9223372036854775807ll;
}
template <bool MAX>
__device__ float worst(float) {
    return __uint_as_float(MAX ? 0xff800000 : 0x7f800000);
}
template <bool MAX>
__device__ double worst(double) {
    return worst<MAX>(float());
}
template <typename A, typename B> constexpr bool IS_SAME = false;
template <typename A> constexpr bool IS_SAME<A, A> = true;
template <typename V> constexpr bool IS_FLOAT = false;
template <> constexpr bool IS_FLOAT<float> = true;
template <> constexpr bool IS_FLOAT<double> = true;

// ANCHOR: better
// The better of two. NAN_WINS: one NaN makes the result a NaN, as in NumPy's
// maximum and torch's max. Otherwise a NaN is passed over, as by C's fmax.
template <bool MAX, bool NAN_WINS, typename V>
__device__ V better(V a, V b) {
    return (NAN_WINS && a != a) || (MAX ? a > b : a < b) ||
        (!NAN_WINS && b != b) ? a : b;
}
// ANCHOR_END: better
template <bool MAX, bool NAN_WINS>
__device__ float better(float a, float b) {
    float best;
    if (!NAN_WINS) best = MAX ? fmaxf(a, b) : fminf(a, b);
    else if (MAX)
        asm("max.NaN.f32 %0, %1, %2;" : "=f"(best) : "f"(a), "f"(b));
    else asm("min.NaN.f32 %0, %1, %2;" : "=f"(best) : "f"(a), "f"(b));
    return best;
}
template <typename T, bool MAX, bool NAN_WINS>
struct Extreme {
    using In = T;
    using Value = Wide<T>;
    static __device__ Value identity() {
        return IS_FLOAT<Value> && !NAN_WINS
                   ? Value(__uint_as_float(0x7fffffff))
                   : worst<MAX>(Value());
    }
    static __device__ Value lift(T x, unsigned int) { return widen(x); }
    static __device__ Value combine(Value a, Value b) {
        return better<MAX, NAN_WINS>(a, b);
    }
};
// ANCHOR_END: extremes
template <typename T> using Min = Extreme<T, false, false>;
template <typename T> using Max = Extreme<T, true, false>;
template <typename T> using Minimum = Extreme<T, false, true>;
template <typename T> using Maximum = Extreme<T, true, true>;

// Both at once: two operators side by side are an operator.
template <typename V> struct alignas(2 * sizeof(V)) Both { V min, max; };
template <typename T>
struct MinMax {
    using In = T;
    using Value = Both<Wide<T>>;
    static __device__ Value identity() { return {Minimum<T>::identity(), Maximum<T>::identity()}; }
    static __device__ Value lift(T x, unsigned int) { return {widen(x), widen(x)}; }
    static __device__ Value combine(Value a, Value b) {
        return {Minimum<T>::combine(a.min, b.min), Maximum<T>::combine(a.max, b.max)};
    }
};

// ANCHOR: found
// The best element and its index; among equal elements the first. An element
// becomes a key, an unsigned number that is larger where the element is
// better. Key and place, side by side, are one number, and the largest one
// wins. The place is the complement of the index, so that the smaller index
// wins a tie. NAN_WINS: NaN has the largest key, so that the first NaN is
// found. Otherwise it has no key, and no place.
__device__ unsigned int key_of(int x) { return x ^ 0x80000000; }
__device__ unsigned int key_of(float x) {
    int bits = __float_as_int(x + 0.0f); // -0.0 becomes 0.0
    return bits ^ (bits >> 31 | 0x80000000);
}
__device__ unsigned long long key_of(long long x) {
    return x ^ 0x8000000000000000;
}
__device__ unsigned long long key_of(double x) {
    long long bits = __double_as_longlong(x + 0.0);
    return bits ^ (bits >> 63 | 0x8000000000000000);
}
__device__ void from_key(unsigned int key, int& x) { x = key ^ 0x80000000; }
__device__ void from_key(unsigned int key, float& x) {
    x = __uint_as_float(key >> 31 ? key ^ 0x80000000 : ~key);
}
__device__ void from_key(unsigned long long key, long long& x) {
    x = key ^ 0x8000000000000000;
}
__device__ void from_key(unsigned long long key, double& x) {
    x = __longlong_as_double(key >> 63 ? key ^ 0x8000000000000000 : ~key);
}
template <typename K>
struct alignas(2 * sizeof(K)) Found { K key; unsigned int place; };
__device__ bool is_larger(Found<unsigned int> a, Found<unsigned int> b) {
    return (static_cast<unsigned long long>(a.key) << 32 | a.place) >
           (static_cast<unsigned long long>(b.key) << 32 | b.place);
}
__device__ bool is_larger(Found<unsigned long long> a,
                          Found<unsigned long long> b) {
    return a.key > b.key || (a.key == b.key && a.place > b.place);
}
template <typename T, bool MAX, bool NAN_WINS>
struct Arg {
    using In = T;
    using Element = Wide<T>;
    using Value = Found<decltype(key_of(Element()))>;
    static __device__ Value identity() { return {0, 0}; }
    // ANCHOR: pair
    static __device__ Value lift(T x, unsigned int i) {
        Element value = widen(x);
        if (value != value)
            return NAN_WINS ? Value{~identity().key, ~i} : identity();
        return {MAX ? key_of(value) : ~key_of(value), ~i};
    }
    static __device__ Value combine(Value a, Value b) {
        return is_larger(a, b) ? a : b;
    }
    // ANCHOR_END: pair
};
// ANCHOR_END: found
template <typename T> using ArgMin = Arg<T, false, true>;
template <typename T> using ArgMax = Arg<T, true, true>;
template <typename T> using NanArgMin = Arg<T, false, false>;
template <typename T> using NanArgMax = Arg<T, true, false>;

// ANCHOR: moments
// Mean and variance: how many elements, their mean, and the sum of squared
// distances from it. Two such triples merge by Chan's formula. The sum of
// squares minus the square of the sum would cancel, up to the last digit.
template <typename F> struct Moments { F count, mean, squares; };
template <typename T>
struct MeanVariance {
    using In = T;
    using F = Wide<T>;
    using Value = Moments<F>;
    static __device__ Value identity() { return {0, 0, 0}; }
    static __device__ Value lift(T x, unsigned int) {
        return {1, widen(x), 0};
    }
    // ANCHOR: chan
    static __device__ Value combine(Value a, Value b) {
        F count = a.count + b.count;
        F share = count > 0 ? b.count / count : 0;
        F apart = b.mean - a.mean;
        return {count, a.mean + apart * share,
                a.squares + b.squares + apart * apart * (a.count * share)};
    }
    // ANCHOR_END: chan
};
// ANCHOR_END: moments

// ---- on the way out ----------------------------------------------------------------------------------

template <typename V> struct Place { unsigned long long index; V value; };
template <typename F> struct Spread { F mean, variance; };
template <class Op, typename V> __device__ V finish(Op, V value, unsigned int) { return value; }
template <typename T, bool MAX, bool NAN_WINS, typename V>
__device__ Place<Wide<T>> finish(Arg<T, MAX, NAN_WINS>, V found, unsigned int) {
    Wide<T> value;
    from_key(MAX ? found.key : ~found.key, value);
    if (NAN_WINS && IS_FLOAT<Wide<T>> && !~found.key) value = __uint_as_float(0x7fffffff);
    return {found.place ? ~found.place : ~0ull, value};
}
template <typename T, typename V> __device__ Spread<Wide<T>> finish(MeanVariance<T>, V all, unsigned int n) {
    return {all.mean, all.squares / n};
}
__device__ float root(float x) { return __fsqrt_rn(x); }
__device__ double root(double x) { return __dsqrt_rn(x); }
template <typename T, typename V> __device__ V finish(L2Norm<T>, V squares, unsigned int) { return root(squares); }
template <class Op> using Out = decltype(finish(Op(), typename Op::Value(), 0u));

// ---- the machine: nothing below knows an operator, but for what makes some of them quick -----------------

// A value in words of 32 bits, for shuffles and messages.
template <typename V> constexpr unsigned int WORDS = sizeof(V) / 4;
template <typename V> constexpr unsigned int WORDS<Found<V>> = sizeof(V) / 4 + 1; // without what pads it
template <typename V> struct Words { unsigned int word[WORDS<V>]; };
template <typename V> __device__ Words<V> words_of(V value) {
    Words<V> words;
    memcpy(&words, &value, sizeof(words));
    return words;
}
template <typename V> __device__ V value_of(Words<V> words) {
    V value;
    memcpy(&value, &words, sizeof(words));
    return value;
}

// ANCHOR: warp
// Combines the 32 values of a warp; the result is in lane 0.
template <class Op>
__device__ typename Op::Value warp_value(typename Op::Value value) {
    using V = typename Op::Value;
    if constexpr (IS_SAME<V, Found<unsigned int>>) {
        // The largest key, then the largest place among the lanes that have
        // that key: one instruction each.
        unsigned int key = __reduce_max_sync(FULL, value.key);
        return {key,
                __reduce_max_sync(FULL, value.key == key ? value.place : 0)};
    } else {
        // ANCHOR: shuffle
        for (unsigned int offset = WARP / 2; offset > 0; offset /= 2) {
            Words<V> other = words_of(value);
            for (unsigned int k = 0; k < WORDS<V>; k++)
                other.word[k] = __shfl_xor_sync(FULL, other.word[k], offset);
            value = Op::combine(value, value_of<V>(other));
        }
        // ANCHOR_END: shuffle
        return value;
    }
}

// Combines the values of a block; the result is in lane 0 of warp 0. Each
// thread leaves its value in shared memory, and a lane of warp 0 combines one
// from each warp: five rounds of shuffles in all, not five in each warp. Each
// CALL has shared memory of its own.
template <class Op, unsigned int BLOCK, int CALL = 0>
__device__ typename Op::Value block_value(typename Op::Value value) {
    if (BLOCK > WARP) {
        __shared__ typename Op::Value of_threads[BLOCK];
        of_threads[threadIdx.x] = value;
        __syncthreads();
        if (threadIdx.x >= WARP) return value;
        for (unsigned int k = WARP; k < BLOCK; k += WARP)
            value = Op::combine(value, of_threads[threadIdx.x + k]);
    }
    return warp_value<Op>(value);
}
// ANCHOR_END: warp

// ANCHOR: fold
// The obvious form: one element at a time, one value for each block, and a
// second launch for these values.
template <class Op, unsigned int BLOCK>
__device__ void fold(const typename Op::In* in, typename Op::Value* values,
                     unsigned int n) {
    // ANCHOR: loop
    auto value = Op::identity();
    for (unsigned long long i = blockIdx.x * BLOCK + threadIdx.x; i < n;
         i += gridDim.x * BLOCK) {
        value = Op::combine(value, Op::lift(in[i], i));
    }
    value = block_value<Op, BLOCK>(value);
    if (threadIdx.x == 0) values[blockIdx.x] = value;
    // ANCHOR_END: loop
}
template <class Op, unsigned int BLOCK>
__device__ void join(const typename Op::Value* values, Out<Op>* out,
                     unsigned int count, unsigned int n) {
    auto value = Op::identity();
    for (unsigned int i = threadIdx.x; i < count; i += BLOCK)
        value = Op::combine(value, values[i]);
    value = block_value<Op, BLOCK>(value);
    if (threadIdx.x == 0) *out = finish(Op(), value, n);
}
// ANCHOR_END: fold

// ANCHOR: vectors
// The elements of a vector.
template <typename T> struct Elements { T x[sizeof(uint4) / sizeof(T)]; };
template <typename T> __device__ Elements<T> elements_of(uint4 v) {
    Elements<T> elements;
    memcpy(&elements, &v, sizeof(v));
    return elements;
}

// What a thread holds on its way through its share: by default, a value.
template <class Op>
struct Running {
    typename Op::Value value = Op::identity();
};
template <class Op>
__device__ typename Op::Value settled(Op, Running<Op> running) {
    return running.value;
}

// The value of a vector whose first element has the index i. Combining in
// pairs of pairs keeps the chain of waiting instructions short.
template <class Op>
__device__ typename Op::Value take(Op, uint4 v, unsigned int i = 0) {
    using T = typename Op::In;
    constexpr unsigned int COUNT = sizeof(uint4) / sizeof(T);
    Elements<T> elements = elements_of<T>(v);
    typename Op::Value values[COUNT];
    for (unsigned int k = 0; k < COUNT; k++)
        values[k] = Op::lift(elements.x[k], i + k);
    for (unsigned int half = COUNT / 2; half > 0; half /= 2) {
        for (unsigned int k = 0; k < half; k++)
            values[k] = Op::combine(values[k], values[k + half]);
    }
    return values[0];
}
template <class Op>
__device__ void join(Op op, Running<Op>& running, uint4 v, unsigned int i) {
    running.value = Op::combine(running.value, take(op, v, i));
}
// ANCHOR_END: vectors

// ANCHOR: quick
// ANCHOR: dp4a
// One instruction multiplies four bytes by four others and adds the products.
__device__ int dot4(unsigned int a, unsigned int b, int sum) {
    asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(a), "r"(b));
    return sum;
}
__device__ int dot16(uint4 a, uint4 b) {
    return dot4(a.x, b.x, dot4(a.y, b.y, dot4(a.z, b.z, dot4(a.w, b.w, 0))));
}
// ANCHOR_END: dp4a
__device__ uint4 ones() {
    return make_uint4(0x01010101, 0x01010101, 0x01010101, 0x01010101);
}
__device__ long long take(Sum<signed char>, uint4 v, unsigned int = 0) {
    return dot16(v, ones());
}
__device__ long long take(Sum<unsigned char>, uint4 v, unsigned int = 0) {
    // As signed bytes, each is 128 less.
    uint4 less = make_uint4(v.x ^ 0x80808080, v.y ^ 0x80808080,
                            v.z ^ 0x80808080, v.w ^ 0x80808080);
    return dot16(less, ones()) + 16 * 128;
}
__device__ long long take(SumOfSquares<signed char>, uint4 v,
                          unsigned int = 0) {
    return dot16(v, v);
}
// Which element of a vector is the best matters only for the best vector. A
// thread keeps that vector and looks into it at the end. On the way, argmax
// costs no more than max.
template <typename T, bool MAX, bool NAN_WINS>
struct Running<Arg<T, MAX, NAN_WINS>> {
    Wide<T> best = Extreme<T, MAX, NAN_WINS>::identity();
    uint4 vector;
    unsigned int first = NOWHERE;
};
template <typename T, bool MAX, bool NAN_WINS>
__device__ void join(Arg<T, MAX, NAN_WINS>,
                     Running<Arg<T, MAX, NAN_WINS>>& running, uint4 v,
                     unsigned int i) {
    using Best = Extreme<T, MAX, NAN_WINS>;
    Wide<T> best = take(Best(), v), before = running.best;
    bool beats =
        (MAX ? best > before : best < before) ||
        (NAN_WINS ? best != best && before == before : before != before);
    if (beats || running.first == NOWHERE) running = {best, v, i};
}
template <typename T, bool MAX, bool NAN_WINS>
__device__ auto settled(Arg<T, MAX, NAN_WINS> op,
                        Running<Arg<T, MAX, NAN_WINS>> running) {
    auto found = op.identity();
    if (running.first == NOWHERE) return found;
    Elements<T> elements = elements_of<T>(running.vector);
    for (unsigned int k = 0; k < sizeof(uint4) / sizeof(T); k++) {
        found = op.combine(found, op.lift(elements.x[k], running.first + k));
    }
    return found;
}
// First the mean and squares of the vector alone, in two passes over its
// registers: one division for each vector, in the merge.
template <typename T>
__device__ Moments<Wide<T>> take(MeanVariance<T>, uint4 v, unsigned int = 0) {
    constexpr unsigned int COUNT = sizeof(uint4) / sizeof(T);
    Elements<T> elements = elements_of<T>(v);
    Wide<T> sum = 0, squares = 0;
    for (unsigned int k = 0; k < COUNT; k++) sum += widen(elements.x[k]);
    Wide<T> mean = sum * (Wide<T>(1) / COUNT);
    for (unsigned int k = 0; k < COUNT; k++) {
        Wide<T> apart = widen(elements.x[k]) - mean;
        squares += apart * apart;
    }
    return {Wide<T>(COUNT), mean, squares};
}
// ANCHOR_END: quick

// ANCHOR: pairs
// The best of 16 bytes, compared as pairs of shorts. The upper byte of a
// short decides. So the odd bytes are compared where they stand, and the even
// bytes after a shift by 8.
template <bool MAX>
__device__ unsigned int better2(unsigned int a, unsigned int b, short) {
    return MAX ? __vmaxs2(a, b) : __vmins2(a, b);
}
template <bool MAX>
__device__ unsigned int better2(unsigned int a, unsigned int b,
                                unsigned short) {
    return MAX ? __vmaxu2(a, b) : __vminu2(a, b);
}
template <bool MAX, typename S>
__device__ int best_of_bytes(uint4 v, S sign) {
    unsigned int odd = better2<MAX>(better2<MAX>(v.x, v.y, sign),
                                    better2<MAX>(v.z, v.w, sign), sign);
    unsigned int even =
        better2<MAX>(better2<MAX>(v.x << 8, v.y << 8, sign),
                     better2<MAX>(v.z << 8, v.w << 8, sign), sign);
    unsigned int best = better2<MAX>(odd, even, sign);
    int low = static_cast<S>(best) >> 8,
        high = static_cast<S>(best >> 16) >> 8;
    return better<MAX, false>(low, high);
}
template <bool MAX, bool NAN_WINS>
__device__ int take(Extreme<signed char, MAX, NAN_WINS>, uint4 v,
                    unsigned int = 0) {
    return best_of_bytes<MAX>(v, short());
}
template <bool MAX, bool NAN_WINS>
__device__ int take(Extreme<unsigned char, MAX, NAN_WINS>, uint4 v,
                    unsigned int = 0) {
    return best_of_bytes<MAX>(v, static_cast<unsigned short>(0));
}
// For bf16 there are instructions that compare pairs.
template <bool MAX, bool NAN_WINS>
__device__ unsigned int better_pair(unsigned int a, unsigned int b) {
    unsigned int best;
    if (MAX && NAN_WINS)
        asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(best) : "r"(a), "r"(b));
    else if (MAX) asm("max.bf16x2 %0, %1, %2;" : "=r"(best) : "r"(a), "r"(b));
    else if (NAN_WINS)
        asm("min.NaN.bf16x2 %0, %1, %2;" : "=r"(best) : "r"(a), "r"(b));
    else asm("min.bf16x2 %0, %1, %2;" : "=r"(best) : "r"(a), "r"(b));
    return best;
}
template <bool MAX, bool NAN_WINS>
__device__ float take(Extreme<bf16, MAX, NAN_WINS>, uint4 v,
                      unsigned int = 0) {
    unsigned int best =
        better_pair<MAX, NAN_WINS>(better_pair<MAX, NAN_WINS>(v.x, v.y),
                                   better_pair<MAX, NAN_WINS>(v.z, v.w));
    return better<MAX, NAN_WINS>(__uint_as_float(best << 16),
                                 __uint_as_float(best & 0xffff0000));
}
template <typename T>
__device__ Both<Wide<T>> take(MinMax<T>, uint4 v, unsigned int = 0) {
    return {take(Minimum<T>(), v), take(Maximum<T>(), v)};
}
// Every byte above 0 leaves its top bit set, and one instruction counts the
// bits of 16 bytes.
__device__ unsigned int above4(unsigned int x) {
    return ~x & ((x & 0x7f7f7f7f) + 0x7f7f7f7f) & 0x80808080;
}
__device__ unsigned int take(Count<signed char>, uint4 v, unsigned int = 0) {
    return __popc(above4(v.x) | above4(v.y) >> 1 | above4(v.z) >> 2 |
                  above4(v.w) >> 3);
}
// The same for bf16, without NaNs: their bits, less the sign, are above those
// of infinity, 0x7f80.
__device__ unsigned int above2(unsigned int x) {
    unsigned int size = x & 0x7fff7fff;
    return ~x & (size + 0x7fff7fff) & ~(size + 0x007f007f) & 0x80008000;
}
__device__ unsigned int take(Count<bf16>, uint4 v, unsigned int = 0) {
    return __popc(above2(v.x) | above2(v.y) >> 1 | above2(v.z) >> 2 |
                  above2(v.w) >> 3);
}
// ANCHOR_END: pairs

// Two vectors that are multiplied.
template <class Op> constexpr bool TWO_INPUTS = false;
template <typename T> constexpr bool TWO_INPUTS<Dot<T>> = true;
template <typename T>
__device__ typename Dot<T>::Value take(Dot<T>, uint4 v, uint4 w) {
    Elements<T> x = elements_of<T>(v), y = elements_of<T>(w);
    typename Dot<T>::Value sum = 0;
    for (unsigned int k = 0; k < sizeof(uint4) / sizeof(T); k++) sum += Dot<T>::lift(x.x[k], y.x[k]);
    return sum;
}
__device__ long long take(Dot<signed char>, uint4 v, uint4 w) { return dot16(v, w); }

// ANCHOR: share
// How an input is shared out, as in chapter 8. Each way has its own code.
enum Share {
    ONE_BLOCK, // one block, one tile
    ONE_TILE, // one tile a block
    MANY_TILES, // a loop over tiles
};

// What replaces a vector beyond the end: elements that change nothing, if the
// operator has such an element. Mean and variance have none, and neither has
// an operator that is not named here. They skip the vector.
template <class Op> constexpr bool HAS_FILLER = false;
template <typename T> constexpr bool HAS_FILLER<Sum<T>> = true;
template <typename T> constexpr bool HAS_FILLER<SumOfSquares<T>> = true;
template <typename T> constexpr bool HAS_FILLER<L2Norm<T>> = true;
template <typename T> constexpr bool HAS_FILLER<Count<T>> = true;
template <typename T, bool ALL>
constexpr bool HAS_FILLER<Truth<T, ALL>> = true;
template <typename T> constexpr bool HAS_FILLER<Dot<T>> = true;
template <typename T> constexpr bool HAS_FILLER<Product<T>> = true;
template <typename T, char WHICH>
constexpr bool HAS_FILLER<BitWise<T, WHICH>> = true;
template <typename T, bool MAX, bool NAN_WINS>
constexpr bool HAS_FILLER<Extreme<T, MAX, NAN_WINS>> = true;
template <typename T, bool MAX, bool NAN_WINS>
constexpr bool HAS_FILLER<Arg<T, MAX, NAN_WINS>> = true;
template <class Op>
__device__ uint4 filler(Op) {
    return make_uint4(0, 0, 0, 0);
}
template <typename T> __device__ uint4 repeated(T x) {
    Elements<T> elements;
    for (unsigned int k = 0; k < sizeof(uint4) / sizeof(T); k++)
        elements.x[k] = x;
    uint4 v;
    memcpy(&v, &elements, sizeof(v));
    return v;
}
template <typename T>
__device__ uint4 filler(Product<T>) {
    return repeated(T(1));
}
template <typename T>
__device__ uint4 filler(All<T>) {
    return repeated(narrow<T>(1));
}
template <typename T>
__device__ uint4 filler(And<T>) {
    return repeated(~T(0));
}
template <typename T, bool MAX, bool NAN_WINS>
__device__ uint4 filler(Extreme<T, MAX, NAN_WINS>) {
    using Op = Extreme<T, MAX, NAN_WINS>;
    if constexpr (IS_FLOAT<Wide<T>> || sizeof(T) >= sizeof(int)) {
        return repeated(narrow<T>(Op::identity()));
    } else { // bytes and shorts, whose identity is an int's
        constexpr T LOW = T(-1) < T(0) ? T(1 << (8 * sizeof(T) - 1)) : T(0);
        return repeated(MAX ? LOW : T(~LOW));
    }
}
// Their places are behind those of all elements, so they lose every tie.
template <typename T, bool MAX, bool NAN_WINS>
__device__ uint4 filler(Arg<T, MAX, NAN_WINS>) {
    return filler(Extreme<T, MAX, NAN_WINS>());
}

// UNROLL vectors of a tile, all of them on their way before the first is
// used.
template <class Op, unsigned int UNROLL>
__device__ void tile(Running<Op>& running, const uint4* body,
                     const uint4* other, unsigned int at, unsigned int step,
                     unsigned int vectors, unsigned int head) {
    constexpr unsigned int PER_VECTOR =
        sizeof(uint4) / sizeof(typename Op::In);
    uint4 v[UNROLL], w[UNROLL];
    for (unsigned int k = 0; k < UNROLL; k++) {
        bool is_there = at + k * step < vectors;
        v[k] = is_there ? load_once(body + at + k * step) : filler(Op());
        if constexpr (TWO_INPUTS<Op>)
            w[k] = is_there ? load_once(other + at + k * step) : filler(Op());
    }
    for (unsigned int k = 0; k < UNROLL; k++) {
        if (!HAS_FILLER<Op> && at + k * step >= vectors) continue;
        if constexpr (TWO_INPUTS<Op>)
            running.value =
                Op::combine(running.value, take(Op(), v[k], w[k]));
        else join(Op(), running, v[k], head + (at + k * step) * PER_VECTOR);
    }
}

// A thread's share of the input. A block's vectors lie together in one tile
// or, if spread, as far apart as the grid is wide. The last block takes the
// elements before the first whole line and behind the last vector, one or a
// few for each thread. Two inputs are read in vectors if they begin at the
// same offset within 16 bytes, and otherwise by elements.
template <class Op, unsigned int BLOCK, unsigned int UNROLL, Share SHARE>
__device__ typename Op::Value share(const typename Op::In* in,
                                    const typename Op::In* other,
                                    unsigned int n, unsigned int spread) {
    using T = typename Op::In;
    constexpr unsigned int PER_VECTOR = sizeof(uint4) / sizeof(T);
    constexpr unsigned int PER_LINE =
        SHARE == ONE_BLOCK ? PER_VECTOR : LINE_BYTES / sizeof(T);
    unsigned int past = static_cast<unsigned int>(
        reinterpret_cast<unsigned long long>(in) / sizeof(T));
    unsigned int head = min((0 - past) % PER_LINE, n);
    if constexpr (TWO_INPUTS<Op>) {
        if ((reinterpret_cast<unsigned long long>(in) ^
             reinterpret_cast<unsigned long long>(other)) % 16) head = n;
    }
    unsigned int vectors = (n - head) / PER_VECTOR,
                 tail = (n - head) % PER_VECTOR;
    const uint4* body = reinterpret_cast<const uint4*>(in + head);
    const uint4* also = reinterpret_cast<const uint4*>(other + head);

    unsigned int at = threadIdx.x, step = BLOCK;
    if (SHARE != ONE_BLOCK) {
        at += blockIdx.x * (spread ? BLOCK : BLOCK * UNROLL);
        step = spread ? gridDim.x * BLOCK : BLOCK;
    }
    // First the odd elements: after the vectors they would cost a second trip
    // to memory.
    auto odd = Op::identity();
    if constexpr (TWO_INPUTS<Op>) {
        unsigned long long j =
            static_cast<unsigned long long>(gridDim.x - 1 - blockIdx.x) *
                BLOCK +
            threadIdx.x;
#pragma unroll 1
        for (; j < head + tail; j += gridDim.x * BLOCK) {
            unsigned int i = j < head ? j : n - tail + j - head;
            odd = Op::combine(odd, Op::lift(in[i], other[i]));
        }
    } else if (SHARE == ONE_BLOCK || blockIdx.x == gridDim.x - 1) {
#pragma unroll 1
        for (unsigned int j = threadIdx.x; j < head + tail; j += BLOCK) {
            unsigned int i = j < head ? j : n - tail + j - head;
            odd = Op::combine(odd, Op::lift(in[i], i));
        }
    }
    Running<Op> running;
    if (SHARE != MANY_TILES) {
        tile<Op, UNROLL>(running, body, also, at, step, vectors, head);
    } else {
        for (; at < vectors; at += gridDim.x * (BLOCK * UNROLL)) {
            tile<Op, UNROLL>(running, body, also, at, step, vectors, head);
        }
    }
    return Op::combine(settled(Op(), running), odd);
}
// The first of two launches again, now by vectors.
template <class Op, unsigned int BLOCK, unsigned int UNROLL>
__device__ void vectors(const typename Op::In* in, typename Op::Value* values,
                        unsigned int n) {
    auto value = block_value<Op, BLOCK>(
        share<Op, BLOCK, UNROLL, MANY_TILES>(in, nullptr, n, 0));
    if (threadIdx.x == 0) values[blockIdx.x] = value;
}
// ANCHOR_END: share

// ANCHOR: message
// A message between blocks: each word of the value in a 64-bit word with its
// own flag. A receiver that sees all flags has the value, so no fence is
// needed. A message fills whole sectors of 32 bytes, so that L2 need not
// fetch the rest of one. Each block has a slot of the state; all of it is 0
// before a launch and after it.
constexpr unsigned long long READY = 1ull << 32;
template <typename V>
constexpr unsigned int SLOT_WORDS = (WORDS<V> + 3) / 4 * 4;

// Called by warp 0; sends the value of lane 0.
template <typename V>
__device__ void send(unsigned long long* slot, V value) {
    Words<V> words = words_of(value);
    unsigned int mine = 0;
    for (unsigned int k = 0; k < WORDS<V>; k++) {
        words.word[k] = __shfl_sync(FULL, words.word[k], 0);
        if (threadIdx.x % (WORDS<V> > 2 ? SLOT_WORDS<V> : WORDS<V>) == k)
            mine = words.word[k];
    }
    if (threadIdx.x >= SLOT_WORDS<V>) return;
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;"
                 :: "l"(slot + threadIdx.x), "l"(READY | mine) : "memory");
}
template <typename V> struct Message {
    unsigned long long word[(WORDS<V> + 1) / 2 * 2];
    __device__ void look(unsigned long long* slot) {
        for (unsigned int k = 0; k < WORDS<V>; k += 2) {
            asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                         : "=l"(word[k]), "=l"(word[k + 1])
                         : "l"(slot + k) : "memory");
        }
    }
    __device__ bool ready() {
        unsigned long long all = READY;
        for (unsigned int k = 0; k < WORDS<V>; k++) all &= word[k];
        return all;
    }
    // Takes the value out and clears the slot.
    __device__ V take(unsigned long long* slot) {
        Words<V> words;
        for (unsigned int k = 0; k < WORDS<V>; k++)
            words.word[k] = static_cast<unsigned int>(word[k]);
        for (unsigned int k = 0; k < SLOT_WORDS<V>; k += 2) {
            asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %1};"
                         :: "l"(slot + k), "l"(0ull) : "memory");
        }
        return value_of<V>(words);
    }
};

// Waits for the messages of blocks first, first + stride, ... and combines
// them in that order. It looks at two slots at once.
template <class Op>
__device__ typename Op::Value receive(unsigned long long* slots,
                                      unsigned int first,
                                      unsigned int stride) {
    using V = typename Op::Value;
    Message<V> message, other;
    V value = Op::identity();
    for (unsigned int b = first; b < gridDim.x; b += 2 * stride) {
        bool two = b + stride < gridDim.x;
        unsigned long long* slot = slots + SLOT_WORDS<V> * b;
        unsigned long long* second =
            two ? slot + SLOT_WORDS<V> * stride : slot;
        // ANCHOR: wait
        do {
            message.look(slot);
            other.look(second);
        } while (!(message.ready() && other.ready()));
        value = Op::combine(value, message.take(slot));
        if (two) value = Op::combine(value, other.take(second));
        // ANCHOR_END: wait
    }
    return value;
}

// Block 0 combines the values of all blocks in the order of their numbers,
// whatever the order in which they come: the same bits every time.
template <class Op, unsigned int BLOCK, Share SHARE, int CALL = 1>
__device__ void meet(typename Op::Value value, Out<Op>* out, unsigned int n,
                     unsigned long long* state) {
    using V = typename Op::Value;
    if (SHARE != ONE_BLOCK && blockIdx.x > 0) {
        if (threadIdx.x < WARP)
            send(state + SLOT_WORDS<V> * blockIdx.x, value);
        return;
    }
    if (SHARE != ONE_BLOCK && gridDim.x > 1) {
        // As many warps as can look at all slots at once. One warp alone
        // needs no barrier.
        unsigned int receivers =
            min(BLOCK, (gridDim.x - 1 + 2 * WARP - 1) / (2 * WARP) * WARP);
        V others = threadIdx.x < receivers
                       ? receive<Op>(state, 1 + threadIdx.x, receivers)
                       : Op::identity();
        if (receivers > WARP) others = block_value<Op, BLOCK, CALL>(others);
        else if (threadIdx.x < WARP) others = warp_value<Op>(others);
        value = Op::combine(value, others);
    }
    if (threadIdx.x == 0) *out = finish(Op(), value, n);
}
// One launch.
template <class Op, unsigned int BLOCK, unsigned int UNROLL, Share SHARE>
__device__ void reduce(const typename Op::In* in,
                       const typename Op::In* other, Out<Op>* out,
                       unsigned int n, unsigned long long* state,
                       unsigned int spread) {
    meet<Op, BLOCK, SHARE>(
        block_value<Op, BLOCK>(
            share<Op, BLOCK, UNROLL, SHARE>(in, other, n, spread)),
        out, n, state);
}
// ANCHOR_END: message

// ANCHOR: entries
// C names, so that a host program finds each instance by the name that the
// reader sees: reduce_argmax_f32.
#define LESSON(OPERATOR, OP, TYPE) \
    extern "C" __global__ void __launch_bounds__(256) fold##OP##_##TYPE( \
        const OPERATOR::In* in, OPERATOR::Value* values, unsigned int n) { fold<OPERATOR, 256>(in, values, n); } \
    extern "C" __global__ void __launch_bounds__(256) join##OP##_##TYPE( \
        const OPERATOR::Value* values, Out<OPERATOR>* out, unsigned int count, unsigned int n) { \
        join<OPERATOR, 256>(values, out, count, n); } \
    extern "C" __global__ void __launch_bounds__(256) vectors##OP##_##TYPE( \
        const OPERATOR::In* in, OPERATOR::Value* values, unsigned int n) { \
        vectors<OPERATOR, 256, 4>(in, values, n); }
#define RESIDENT(BLOCK, UNROLL) ((BLOCK) == WARP ? 1 : ((UNROLL) == 2 ? 2048 : 1024) / (BLOCK))
#define REDUCE(MONOID, OP, TYPE, SHARE, NAME, BLOCK, UNROLL) \
    extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT(BLOCK, UNROLL)) \
    reduce##OP##_##NAME##_t##BLOCK##u##UNROLL##_##TYPE( \
        const MONOID::In* in, const MONOID::In* other, Out<MONOID>* out, unsigned int n, \
        unsigned long long* state, unsigned int spread) { \
        reduce<MONOID, BLOCK, UNROLL, SHARE>(in, other, out, n, state, spread); }

// One shape of each that takes any input. A GPU gets the one that suits the
// size, compiled from this file when it is first wanted.
#ifndef WANTED_ALONE
#define OPERATOR(MONOID, OP, TYPE) REDUCE(MONOID, OP, TYPE, MANY_TILES, tiles, 256, 4)

// Every type, as what it is called by.
#define INTEGERS(EACH) \
    EACH(signed char, i8) EACH(unsigned char, u8) EACH(short, i16) EACH(int, i32) EACH(unsigned int, u32) EACH(long long, i64)
#define FLOATS(EACH) EACH(f16, f16) EACH(bf16, bf16) EACH(float, f32) EACH(double, f64)

#define ANY(T, TYPE) OPERATOR(Sum<T>, , TYPE) OPERATOR(Min<T>, _min, TYPE) OPERATOR(Max<T>, _max, TYPE)
#define FLOAT(T, TYPE) \
    OPERATOR(Minimum<T>, _minimum, TYPE) OPERATOR(Maximum<T>, _maximum, TYPE) OPERATOR(MeanVariance<T>, _meanvar, TYPE)
#define FOUND(T, TYPE) OPERATOR(ArgMin<T>, _argmin, TYPE) OPERATOR(ArgMax<T>, _argmax, TYPE)
#define NUMBERS(T, TYPE) OPERATOR(NanArgMin<T>, _nanargmin, TYPE) OPERATOR(NanArgMax<T>, _nanargmax, TYPE)
#define TRUTH(T, TYPE) OPERATOR(Any<T>, _any, TYPE) OPERATOR(All<T>, _all, TYPE)
#define BOTH(T, TYPE) OPERATOR(MinMax<T>, _minmax, TYPE)
#define COUNT(T, TYPE) OPERATOR(Count<T>, _count, TYPE)
#define SQUARES(T, TYPE) OPERATOR(SumOfSquares<T>, _sumsq, TYPE) OPERATOR(Dot<T>, _dot, TYPE)
#define ROOT(T, TYPE) OPERATOR(L2Norm<T>, _l2_norm, TYPE)
#define PRODUCT(T, TYPE) OPERATOR(Product<T>, _prod, TYPE)
#define BITS(T, TYPE) OPERATOR(And<T>, _and, TYPE) OPERATOR(Or<T>, _or, TYPE) OPERATOR(Xor<T>, _xor, TYPE)
INTEGERS(ANY) FLOATS(ANY)
FLOATS(FLOAT)
FOUND(int, i32) FOUND(long long, i64) FOUND(bf16, bf16) FOUND(float, f32) FOUND(double, f64)
NUMBERS(float, f32) NUMBERS(double, f64)
BOTH(int, i32) BOTH(bf16, bf16) BOTH(float, f32) BOTH(double, f64)
COUNT(signed char, i8) COUNT(int, i32) COUNT(bf16, bf16) COUNT(float, f32)
TRUTH(unsigned char, u8) TRUTH(int, i32) TRUTH(bf16, bf16) TRUTH(float, f32)
SQUARES(signed char, i8) FLOATS(SQUARES)
FLOATS(ROOT)
PRODUCT(int, i32) PRODUCT(long long, i64) PRODUCT(float, f32) PRODUCT(double, f64)
BITS(unsigned int, u32) BITS(long long, i64)

#define SUMS(T, TYPE) LESSON(Sum<T>, , TYPE)
INTEGERS(SUMS) FLOATS(SUMS)
LESSON(Max<float>, _max, f32) LESSON(ArgMax<float>, _argmax, f32) LESSON(MeanVariance<float>, _meanvar, f32)
#endif
// ANCHOR_END: entries

// ---- no lesson: kernels that the library launches ----
#ifndef WANTED_ALONE
// Many arrays as if they were one. Each has tiles of its own, and a block
// takes tiles that lie one behind the other.
struct Array {
    unsigned long long place, elements;
    unsigned long long tiles; // of the arrays before it
};
template <class Op, unsigned int BLOCK, unsigned int UNROLL>
__device__ typename Op::Value
share_of_many(unsigned long long base, const Array* arrays, unsigned int count,
              unsigned long long tiles) {
    using T = typename Op::In;
    constexpr unsigned int PER_VECTOR = sizeof(uint4) / sizeof(T);
    unsigned long long t = tiles * blockIdx.x / gridDim.x,
                       end = tiles * (blockIdx.x + 1) / gridDim.x;
    // The last array that begins at the first tile or before it.
    unsigned int at = 0, behind = count;
    while (behind - at > 1) {
        unsigned int middle = (at + behind) / 2;
        if (arrays[middle].tiles <= t) at = middle;
        else behind = middle;
    }
    Running<Op> running;
    auto odd = Op::identity();
    for (; t < end; at++) {
        Array array = arrays[at];
        unsigned long long last = at + 1 < count ? arrays[at + 1].tiles : tiles;
        const T* in = reinterpret_cast<const T*>(base + array.place);
        unsigned long long past = (base + array.place) / sizeof(T),
                           head = min((0 - past) % PER_VECTOR, array.elements),
                           vectors = (array.elements - head) / PER_VECTOR;
        const uint4* body = reinterpret_cast<const uint4*>(in + head);
        if (t == array.tiles) { // its first tile: what is in no vector
            unsigned long long j = threadIdx.x,
                               tail = head + vectors * PER_VECTOR;
            if (j < head) odd = Op::combine(odd, Op::lift(in[j], 0));
            if (tail + j < array.elements)
                odd = Op::combine(odd, Op::lift(in[tail + j], 0));
        }
        for (; t < min(last, end); t++) {
            unsigned long long first = (t - array.tiles) * (BLOCK * UNROLL);
            unsigned long long left = first < vectors ? vectors - first : 0;
            tile<Op, UNROLL>(running, body + first, nullptr, threadIdx.x, BLOCK,
                             static_cast<unsigned int>(
                                 min(left, 1ull * BLOCK * UNROLL)),
                             0);
        }
    }
    return Op::combine(settled(Op(), running), odd);
}
#define MANY(MONOID, OP, TYPE) \
    extern "C" __global__ void __launch_bounds__(256, RESIDENT(256, 4)) \
    many##OP##_t256u4_##TYPE(unsigned long long base, const Array* arrays, unsigned int count, \
                             unsigned long long tiles, Out<MONOID>* out, unsigned long long* state) { \
        meet<MONOID, 256, MANY_TILES, 3>( \
            block_value<MONOID, 256, 2>(share_of_many<MONOID, 256, 4>(base, arrays, count, tiles)), out, 0, state); \
    }
#define SUMS_OF_MANY(T, TYPE) MANY(Sum<T>, , TYPE) MANY(SumOfSquares<T>, _sumsq, TYPE) MANY(L2Norm<T>, _l2_norm, TYPE)
FLOATS(SUMS_OF_MANY)

// An array of more elements than a launch counts, in pieces: what they left,
// brought together in their order. Rows, columns and slices have a result of
// each piece each: that of piece p for number i is results[p * many + i].
struct Pieces {
    unsigned long long many;   // results of a piece
    unsigned int count;        // pieces
    unsigned long long length; // elements of each but the last
    unsigned long long n;      // elements of all
};
struct PlaceInRow { unsigned int index; float value; };
// The best of the pieces' elements, as of an array; its place is then that of
// its piece. A piece without a place has none here either.
template <class Op, class In>
__device__ auto merged(Op, const In* results, Pieces pieces) {
    auto best = Op::identity();
#pragma unroll 1
    for (unsigned int p = 0; p < pieces.count; p++)
        best = Op::combine(best, Op::lift(results[p * pieces.many].value, p));
    auto found = finish(Op(), best, 0);
    if (best.place)
        found.index = pieces.length * found.index +
                      results[found.index * pieces.many].index;
    return found;
}
template <typename F>
__device__ auto merged(MeanVariance<F>, const Spread<F>* results,
                       Pieces pieces) {
    using Op = MeanVariance<F>;
    auto all = Op::identity();
#pragma unroll 1
    for (unsigned int p = 0; p < pieces.count; p++) {
        F count = min(pieces.length, pieces.n - p * pieces.length);
        Spread<F> piece = results[p * pieces.many];
        all = Op::combine(all, {count, piece.mean, piece.variance * count});
    }
    return Spread<F>{all.mean, all.squares / all.count};
}
template <typename T>
__device__ auto merged(Count<T>, const unsigned int* results, Pieces pieces) {
    unsigned long long all = 0;
#pragma unroll 1
    for (unsigned int p = 0; p < pieces.count; p++)
        all += results[p * pieces.many];
    return all;
}
#define MERGE(MONOID, NAME, IN, OUT) \
    extern "C" __global__ void __launch_bounds__(256) merge_##NAME( \
        const IN* results, OUT* out, unsigned long long many, unsigned int count, unsigned long long length, \
        unsigned long long n) { \
        unsigned long long i = blockIdx.x * 256ull + threadIdx.x; \
        if (i < many) out[i] = merged(MONOID(), results + i, {many, count, length, n}); \
    }
#define MERGE_FOUND(T, TYPE) \
    MERGE(ArgMin<T>, argmin_##TYPE, Place<T>, Place<T>) MERGE(ArgMax<T>, argmax_##TYPE, Place<T>, Place<T>)
#define MERGE_NUMBERS(T, TYPE) \
    MERGE(NanArgMin<T>, nanargmin_##TYPE, Place<T>, Place<T>) MERGE(NanArgMax<T>, nanargmax_##TYPE, Place<T>, Place<T>) \
    MERGE(MeanVariance<T>, meanvar_##TYPE, Spread<T>, Spread<T>)
MERGE_FOUND(int, i32) MERGE_FOUND(long long, i64) MERGE_FOUND(float, f32) MERGE_FOUND(double, f64)
MERGE_NUMBERS(float, f32) MERGE_NUMBERS(double, f64)
MERGE(ArgMax<float>, argmax_rows_f32, PlaceInRow, Place<float>)
MERGE(Count<int>, count_u32, unsigned int, unsigned long long)
#endif
