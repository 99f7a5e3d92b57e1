// Chapter 12: layer norm and RMS norm, forward and backward, and with a sum
// before them.
//
// Idea.   Mean and variance merge as any monoid does, and so does the
//         covariance that the way back needs. A row is read once where its
//         lanes hold it; the threads that hold a column sum its gradients,
//         and a second launch adds up their sums in one order.
// Limit.  Bandwidth. Backward the sums over all rows: each block keeps its
//         own until it ends.
// Worked. 4,096 rows of 1,024 floats, backward: x and the gradient are read,
//         32 MiB, and a gradient is written, 16 MiB. 132 blocks leave 1,024
//         sums each of two kinds, 1 MiB, which is read once more.
// Target. compute_90, and compute_80 without clusters.

#if __CUDA_ARCH__ >= 900
#include <cooperative_groups.h>
#endif
#include "elements.cuh"

constexpr unsigned int WARP = 32;
constexpr unsigned int FULL = 0xffffffff; // all lanes of a warp
constexpr float EPSILON = 1e-5f;          // what is added to the variance

// ANCHOR: operations
// What the kernels are told. Row r begins r * pitch elements after the first,
// in both inputs and in the results.
template <typename T> struct Task {
    const T* in;
    const T* other; // what is added to each element, or the gradient of the
                    // results
    T* out; // rows of results; behind them the sums of both inputs, or the
            // gradients of weights and of biases
    unsigned long long rows;
    unsigned int cols;
    unsigned long long pitch;
    const T* weights; // one a column
    const T* biases;
};
// LayerNorm takes the mean away, RmsNorm does not and has no biases. ADDED:
// of the sum of two inputs, which is a result too.
template <typename T, bool CENTRED_, bool ADDED_, bool BACK_> struct Norm {
    using Element = T;
    using Base = Norm;
    static constexpr bool CENTRED = CENTRED_, ADDED = ADDED_, BACK = BACK_,
                          MAY_BE_PLAIN = false, PLAIN = false, LARGE = false;
};
template <typename T> using LayerNorm = Norm<T, true, false, false>;
template <typename T> using RmsNorm = Norm<T, false, false, false>;
template <typename T> using AddLayerNorm = Norm<T, true, true, false>;
template <typename T> using AddRmsNorm = Norm<T, false, true, false>;
template <typename T> using LayerNormBackward = Norm<T, true, false, true>;
template <typename T> using RmsNormBackward = Norm<T, false, false, true>;

// Rows are plain if they are whole vectors that begin at multiples of 16
// bytes: of a piece nothing has to be asked but whether it is there. A kernel
// for rows that may be plain looks at where they begin, and takes others by
// elements.
template <class Op> struct MayBePlain : Op {
    static constexpr bool MAY_BE_PLAIN = true;
};
template <class Op> struct Plain : Op { static constexpr bool PLAIN = true; };
template <typename T> using PlainLayerNorm = MayBePlain<LayerNorm<T>>;
template <typename T> using PlainRmsNorm = MayBePlain<RmsNorm<T>>;
template <typename T> using PlainAddLayerNorm = MayBePlain<AddLayerNorm<T>>;
template <typename T> using PlainAddRmsNorm = MayBePlain<AddRmsNorm<T>>;
template <typename T>
using PlainLayerNormBackward = MayBePlain<LayerNormBackward<T>>;
template <typename T>
using PlainRmsNormBackward = MayBePlain<RmsNormBackward<T>>;

// Rows that are more than an L2 holds: a wrapper of operations, and its
// names, which a macro makes.
template <class Op> struct Large : Op { static constexpr bool LARGE = true; };
#define LARGE(OP) \
    template <typename T> using Large##OP = Large<OP<T>>; \
    template <typename T> using LargePlain##OP = Large<Plain##OP<T>>;
LARGE(LayerNorm)
LARGE(RmsNorm)
LARGE(AddLayerNorm)
LARGE(AddRmsNorm)
LARGE(LayerNormBackward)
LARGE(RmsNormBackward)
#undef LARGE

// What is known of a row when its results are written. Backward: the means of
// g and of g times the normalised element, where g is the gradient times the
// weight.
struct __align__(16) Known { float mean, scale, of_g, of_gx; };

template <class Op> __device__ float normal(float x, Known row) {
    return __fmul_rn(Op::CENTRED ? __fadd_rn(x, -row.mean) : x, row.scale);
}
template <class Op>
__device__ float forward(float x, float weight, float bias, Known row) {
    return Op::CENTRED ? fmaf(normal<Op>(x, row), weight, bias)
                       : __fmul_rn(normal<Op>(x, row), weight);
}
template <class Op>
__device__ float backward(float normal, float g, Known row) {
    return __fmul_rn(
        row.scale,
        fmaf(-normal, row.of_gx, Op::CENTRED ? __fadd_rn(g, -row.of_g) : g));
}
// ANCHOR_END: operations

// ANCHOR: moments
// What a part of a row knows: how many elements it has, their mean and the
// sum of their squared distances from it; and backward the sums of g and of g
// (x - mean). Without a mean to take away it stays 0.
struct Moments { float count, mean, squares, g, gx; };

// Two parts become one. Each refers to a mean of its own, which is taken into
// account; nothing large is subtracted.
template <class Op> __device__ Moments merge(Moments a, Moments b) {
    if (b.count == 0) return a;
    Moments all = {a.count + b.count, 0, 0, 0, 0};
    if (Op::BACK) all.g = a.g + b.g;
    if (!Op::CENTRED) {
        all.squares = a.squares + b.squares;
        if (Op::BACK) all.gx = a.gx + b.gx;
        return all;
    }
    // ANCHOR: merge
    float apart = b.mean - a.mean, share = __fdiv_rn(b.count, all.count);
    all.mean = fmaf(apart, share, a.mean);
    all.squares = fmaf(__fmul_rn(apart, apart), __fmul_rn(a.count, share),
                       a.squares + b.squares);
    // ANCHOR_END: merge
    if (Op::BACK)
        all.gx = fmaf(a.mean - all.mean, a.g, a.gx) +
                 fmaf(b.mean - all.mean, b.g, b.gx);
    return all;
}
// x / count, but for a rounding: a kernel that takes many rows finds 1 /
// count once.
__device__ float over(float x, float count) {
    return __fmul_rn(x, __frcp_rn(count));
}
// An object that the block's threads share, one for all kinds of rows.
template <class Object> __device__ Object& shared() {
    __shared__ Object object;
    return object;
}
template <unsigned int LANES> __device__ float group_sum(float x) {
    for (unsigned int offset = LANES / 2; offset > 0; offset /= 2)
        x += __shfl_xor_sync(FULL, x, offset);
    return x;
}
// The same of a group of LANES lanes at once, in all of them: first the mean
// of all, then what each knows refers to it. `count` is how many elements
// they have together.
template <class Op, unsigned int LANES>
__device__ Moments group_moments(Moments mine, float count) {
    Moments all = {count, 0, 0, 0, 0};
    float apart = 0;
    if (Op::CENTRED) {
        float sum = group_sum<LANES>(__fmul_rn(mine.count, mine.mean));
        if (count > 0) all.mean = __fdiv_rn(sum, count);
        if (mine.count > 0) apart = mine.mean - all.mean;
    }
    all.squares = group_sum<LANES>(
        fmaf(__fmul_rn(mine.count, apart), apart, mine.squares));
    if (Op::BACK) {
        all.g = group_sum<LANES>(mine.g);
        all.gx = group_sum<LANES>(fmaf(apart, mine.g, mine.gx));
    }
    return all;
}
// The least power of two that is not below N.
template <unsigned int N> __device__ constexpr unsigned int power_of_two() {
    unsigned int power = 1;
    while (power < N) power *= 2;
    return power;
}
// The warps' as one, in all threads of the block.
template <class Op, unsigned int BLOCK>
__device__ Moments block_moments(Moments of_warp, unsigned int count,
                                 Moments* buffer) {
    constexpr unsigned int WARPS = BLOCK / WARP;
    if (threadIdx.x % WARP == 0) buffer[threadIdx.x / WARP] = of_warp;
    __syncthreads();
    constexpr unsigned int LANES = power_of_two<WARPS>();
    unsigned int other = threadIdx.x % LANES;
    return group_moments<Op, LANES>(other < WARPS ? buffer[other] : Moments{},
                                    static_cast<float>(count));
}
template <class Op> __device__ Known known(Moments all, unsigned int cols) {
    float count = static_cast<float>(cols);
    float scale =
        __frcp_rn(__fsqrt_rn(__fadd_rn(over(all.squares, count), EPSILON)));
    return {all.mean, scale, over(all.g, count),
            __fmul_rn(scale, over(all.gx, count))};
}
// ANCHOR_END: moments

// ANCHOR: row
// Whether a vector may be read or written there.
__device__ bool is_vector(const void* address) {
    return reinterpret_cast<unsigned long long>(address) % sizeof(uint4) == 0;
}
// Pieces of W elements for some columns. The first piece may begin `lead`
// elements before them.
template <unsigned int W> struct Pieces {
    unsigned int cols, lead;
    __device__ unsigned int pieces() const {
        return (lead + cols + W - 1) / W;
    }
    // Elements from piece number `at` on, and those of it that are no
    // columns.
    __device__ unsigned int left(unsigned int at) const {
        return max(at * W, lead + cols) - at * W;
    }
    __device__ unsigned int before(unsigned int at) const {
        return at == 0 ? lead : 0;
    }
    __device__ bool is_whole(unsigned int at) const {
        unsigned int begins = cols >= W ? cols - W + 1 : 0; // of whole pieces
        return at * W - lead < begins;
    }
    // Columns in `many` elements from there on.
    __device__ unsigned int count(unsigned int at, unsigned int many) const {
        return min(left(at), many) - min(before(at), left(at));
    }
    // The same for pieces that are not whole. A compiler that knew it would
    // look at their elements one by one before it asks whether they are.
    __device__ Pieces rest() const {
        Pieces same = {cols, lead};
#ifdef WANTED_ALONE
        if (W > 1) asm volatile("" : "+r"(same.cols), "+r"(same.lead));
#endif
        return same;
    }
};
// A whole piece of halves wherever it begins, from the words that it lies in.
template <typename T>
__device__ void load_across(Piece<8>& piece, const T* from) {
    unsigned long long address = reinterpret_cast<unsigned long long>(from);
    unsigned int past = address % sizeof(unsigned int);
    auto words = reinterpret_cast<const unsigned int*>(address - past);
    for (unsigned int k = 0; k < 4; k++)
        piece.words[k] = __funnelshift_r(__ldg(words + k),
                                         __ldg(words + k + 1), past * 8);
}
// 16 bytes of results, which the compiler would else take apart where another
// path stores the same words one by one. It is not told that memory changes:
// weights may be loaded before, and what a kernel stores here it reads after
// a barrier at the soonest.
__device__ void store_vector(void* address, uint4 v) {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(address),
                 "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w));
}
// A row, or a part of it, as its readers see it: pieces that begin at
// multiples of 16 bytes, the first of them at the last multiple that is not
// behind the row's begin. Weights are shifted to match. Matrices that do not
// begin alike are read and written by elements.
template <class Op, unsigned int W> struct Row : Pieces<W> {
    using T = typename Op::Element;
    using Pieces<W>::cols;
    using Pieces<W>::lead;
    using Pieces<W>::left;
    static constexpr bool PLAIN = Op::PLAIN && W > 1;
    const T *in, *other, *weights, *biases; // from the first piece on
    T *out, *sums;
    bool aligned, has_aligned_sums, has_aligned_weights;
    // `most`: how many pieces there is room for.
    __device__ Row(const Task<T>& task, unsigned long long row,
                   unsigned int from, unsigned int count,
                   unsigned int most = 0xffffffff) {
        unsigned long long at = row * task.pitch + from;
        in = task.in + at, other = task.other + at, out = task.out + at;
        sums = out + task.rows * task.pitch;
        cols = row < task.rows ? count : 0;
        auto past = [](const void* address) {
            return static_cast<unsigned int>(
                       reinterpret_cast<unsigned long long>(address)) %
                   sizeof(uint4);
        };
        if (PLAIN) {
            weights = task.weights + from, biases = task.biases + from;
            lead = 0;
            aligned = has_aligned_sums = has_aligned_weights = true;
            return;
        }
        aligned =
            W > 1 && !Op::MAY_BE_PLAIN && past(out) == past(in) &&
            (!(Op::ADDED || Op::BACK) || past(other) == past(in));
        lead = aligned ? past(in) / sizeof(T) : 0;
        if (lead > 0 && (lead + count - 1) / W >= most)
            aligned = false, lead = 0;
        has_aligned_sums = aligned && past(sums) == past(in);
        in -= lead, other -= lead, out -= lead, sums -= lead;
        weights = task.weights + from - lead;
        biases = task.biases + from - lead;
        has_aligned_weights = !Op::MAY_BE_PLAIN && past(weights) == 0 &&
                              (!Op::CENTRED || past(biases) == 0);
    }
    // A piece of one of the row's arrays.
    template <class How>
    __device__ void get(Piece<W>& piece, const T* from, unsigned int at,
                        bool are_aligned, How how) const {
        if (W > 1 && are_aligned && this->is_whole(at))
            return ::load<W>(piece, from + at * W, W, true, 0, 0, how);
        piece = {};
        if (PLAIN) return;
        Pieces<W> rest = this->rest();
        ::load<W>(piece, from + at * W, rest.left(at), false, 0,
                  rest.before(at));
    }
    __device__ void get(Piece<W>& piece, const T* from, unsigned int at,
                        bool are_aligned) const {
        if constexpr (Op::LARGE)
            get(piece, from, at, are_aligned, AsLarge());
        else get(piece, from, at, are_aligned, Once());
    }
    __device__ void put(T* to, const float (&x)[W], unsigned int at,
                        bool are_aligned) const {
        if constexpr (W > 1) {
            if (are_aligned && this->is_whole(at))
                return store_vector(to + at * W, narrowed_vector(T(), x));
        }
        if (PLAIN) return;
        Pieces<W> rest = this->rest();
        ::store<W>(to + at * W, x, rest.left(at), false, rest.before(at));
    }
    // The same by a warp whose lanes have pieces that lie side by side, where
    // vectors begin within them: the end of a lane's piece and the begin of
    // the next one's.
    __device__ void put_across(T* to, const float (&x)[W],
                               unsigned int at) const {
        unsigned int lane = threadIdx.x % WARP;
        uint4 own = narrowed_vector(T(), x);
        unsigned int words[8] = {own.x, own.y, own.z, own.w};
        for (unsigned int k = 0; k < 4; k++)
            words[4 + k] = __shfl_down_sync(FULL, words[k], 1);
        bool is_whole = this->is_whole(at);
        bool is_next = __shfl_down_sync(FULL, is_whole, 1) && lane + 1 < WARP;
        bool is_joined = is_whole && is_next;
        bool is_begun = __shfl_up_sync(FULL, is_joined, 1) && lane > 0;
        auto address = reinterpret_cast<unsigned long long>(to + at * W);
        unsigned int own_bytes = (0 - address) % sizeof(uint4); // before it
        if (is_joined) {
            bool by_two = own_bytes & 8, by_one = own_bytes & 4;
            for (unsigned int k = 0; k < 6 && by_two; k++)
                words[k] = words[k + 2];
            for (unsigned int k = 0; k < 5 && by_one; k++)
                words[k] = words[k + 1];
            for (unsigned int k = 0; k < 4; k++)
                words[k] = __funnelshift_r(words[k], words[k + 1],
                                           own_bytes % 4 * 8);
            store_vector(reinterpret_cast<void*>(address + own_bytes),
                         {words[0], words[1], words[2], words[3]});
        }
        Pieces<W> rest = this->rest();
        for (unsigned int w = 0; w < W; w++) {
            bool is_early = w * sizeof(T) < own_bytes;
            if (w < rest.left(at) && w >= rest.before(at) &&
                !(is_early ? is_begun : is_joined))
                narrow(x[w], to[at * W + w]);
        }
    }
    // The elements, and what is added to them or the gradients.
    __device__ void load(Piece<W>& x, Piece<W>& y, unsigned int at) const {
        get(x, in, at, aligned);
        if (Op::ADDED || Op::BACK) get(y, other, at, aligned);
    }
    // In a second pass: a sum of both inputs is read as it was written.
    __device__ void load_again(Piece<W>& x, unsigned int at) const {
        get(x, Op::ADDED ? sums : in, at,
            Op::ADDED ? has_aligned_sums : aligned);
    }
    __device__ void load_columns(Piece<W>& piece, const T* columns,
                                 unsigned int at) const {
        if constexpr (W == 8 && !Op::MAY_BE_PLAIN) {
            // No word begins before the columns or ends after them.
            if (!has_aligned_weights && at > 0 && left(at) >= W + 2)
                return load_across(piece, columns + at * W);
        }
        get(piece, columns, at, has_aligned_weights, Kept());
    }
    __device__ void load_weights(Piece<W>& weight, unsigned int at) const {
        load_columns(weight, weights, at);
    }
    __device__ void load_biases(Piece<W>& bias, unsigned int at) const {
        if (Op::CENTRED) load_columns(bias, biases, at);
    }
    // What was loaded; a sum of both inputs as it is rounded when it is
    // written.
    __device__ void widen(Piece<W> of_x, Piece<W> of_y, float (&x)[W],
                          float (&y)[W]) const {
        ::widen(T(), of_x, x);
        if (Op::ADDED || Op::BACK) ::widen(T(), of_y, y);
        for (unsigned int w = 0; w < W && Op::ADDED; w++) {
            T rounded;
            narrow(__fadd_rn(x[w], y[w]), rounded);
            x[w] = ::widen(rounded);
        }
    }
    // How far the elements of a piece are from the mean; those that are
    // missing are not.
    __device__ void apart_of(const float (&x)[W], unsigned int at, float mean,
                             float (&apart)[W]) const {
        bool is_whole = this->is_whole(at);
        if (PLAIN && !is_whole) mean = 0; // of a piece that is not there
        for (unsigned int w = 0; w < W; w++)
            apart[w] = Op::CENTRED ? __fadd_rn(x[w], -mean) : x[w];
        if (!Op::CENTRED || PLAIN || is_whole) return;
        Pieces<W> rest = this->rest();
        for (unsigned int w = 0; w < W; w++)
            if (w < rest.before(at) || w >= rest.left(at)) apart[w] = 0;
    }
    __device__ void weights_of(float (&weight)[W], unsigned int at) const {
        Piece<W> piece;
        load_weights(piece, at);
        ::widen(T(), piece, weight);
    }
    __device__ void store(const float (&x)[W], unsigned int at) const {
        put(out, x, at, aligned);
    }
    // WARP_WIDE: all lanes of a warp have pieces of this row.
    template <bool WARP_WIDE>
    __device__ void store_sums(const float (&x)[W], unsigned int at) const {
        if constexpr (WARP_WIDE && W > 1 && !PLAIN && Op::ADDED) {
            if (aligned && !has_aligned_sums) return put_across(sums, x, at);
        }
        if (Op::ADDED) put(sums, x, at, has_aligned_sums);
    }
    // The results of a piece.
    template <bool SUMS, bool WARP_WIDE = true>
    __device__ void write(const float (&x)[W], Piece<W> of_weights,
                          Piece<W> of_biases, unsigned int at,
                          Known of_row) const {
        float weight[W], bias[W] = {}, y[W];
        ::widen(T(), of_weights, weight);
        if (Op::CENTRED) ::widen(T(), of_biases, bias);
        for (unsigned int w = 0; w < W; w++)
            y[w] = forward<Op>(x[w], weight[w], bias[w], of_row);
        store(y, at);
        if (SUMS) store_sums<WARP_WIDE>(x, at);
    }
    template <bool SUMS, bool WARP_WIDE = true>
    __device__ void write(const float (&x)[W], unsigned int at,
                          Known of_row) const {
        Piece<W> weight, bias;
        load_weights(weight, at), load_biases(bias, at);
        write<SUMS, WARP_WIDE>(x, weight, bias, at, of_row);
    }
};
// Whether rows are plain.
template <class Op>
__device__ bool is_plain(const Task<typename Op::Element>& task) {
    using T = typename Op::Element;
    return task.cols % PER_VECTOR<T> == 0 &&
           task.pitch % PER_VECTOR<T> == 0 && is_vector(task.in) &&
           is_vector(task.out) && is_vector(task.weights) &&
           (!(Op::ADDED || Op::BACK) || is_vector(task.other)) &&
           (!Op::CENTRED || Op::BACK || is_vector(task.biases));
}
// ANCHOR_END: row

// ANCHOR: three
// The form that anyone would write: a block a row, once for the mean, once
// for the variance, once for the results.
template <class Op, unsigned int BLOCK>
__device__ float block_sum(float x, float* buffer) {
    constexpr unsigned int WARPS = BLOCK / WARP;
    x = group_sum<WARP>(x);
    if (threadIdx.x % WARP == 0) buffer[threadIdx.x / WARP] = x;
    __syncthreads();
    return group_sum<WARPS>(buffer[threadIdx.x % WARPS]);
}
template <class Op, unsigned int BLOCK>
__device__ void three_passes(Task<typename Op::Element> task) {
    __shared__ float sums[2][BLOCK / WARP];
    Row<Op, 1> row(task, blockIdx.x, 0, task.cols);
    Moments all = {};
    float x[1], y[1], sum = 0;
    auto read = [&](unsigned int c) {
        Piece<1> of_x, of_y;
        row.load(of_x, of_y, c);
        row.widen(of_x, of_y, x, y);
    };
    if (Op::CENTRED) {
        for (unsigned int c = threadIdx.x; c < task.cols; c += BLOCK)
            read(c), sum += x[0];
        all.mean = __fdiv_rn(block_sum<Op, BLOCK>(sum, sums[0]),
                             static_cast<float>(task.cols));
    }
    sum = 0;
    // ANCHOR: second_pass
    for (unsigned int c = threadIdx.x; c < task.cols; c += BLOCK) {
        read(c); // into x[0]
        float apart = __fadd_rn(x[0], -all.mean);
        sum = fmaf(apart, apart, sum);
    }
    all.squares = block_sum<Op, BLOCK>(sum, sums[1]);
    // ANCHOR_END: second_pass
    Known of_row = known<Op>(all, task.cols);
    for (unsigned int c = threadIdx.x; c < task.cols; c += BLOCK)
        read(c), row.template write<true>(x, c, of_row);
}
// ANCHOR_END: three

// ANCHOR: stream
// The moments of the LOADS pieces of a thread from `at` on, STEP after STEP,
// around a mean of their own, g beside them.
template <class Op, unsigned int STEP, unsigned int LOADS, unsigned int W>
__device__ Moments moments_of(const float (&x)[LOADS][W],
                              const float (&g)[LOADS][W],
                              const Row<Op, W>& row, unsigned int at) {
    unsigned int count = 0;
#pragma unroll
    for (unsigned int k = 0; k < LOADS; k++)
        count += row.count(at + k * STEP, W);
    Moments mine = {static_cast<float>(count), 0, 0, 0, 0};
    if (count == 0) return mine;
    // ANCHOR: piece_moments
    float sums[4] = {};
    if (Op::CENTRED) {
        // A missing element is 0.
#pragma unroll
        for (unsigned int k = 0; k < LOADS * W; k++)
            sums[k % 4] += x[k / W][k % W];
        mine.mean = __fdiv_rn((sums[0] + sums[1]) + (sums[2] + sums[3]),
                              mine.count);
    }
    float squares[2] = {};
#pragma unroll
    for (unsigned int k = 0; k < LOADS; k++) {
        float apart[W];
        row.apart_of(x[k], at + k * STEP, mine.mean, apart);
        for (unsigned int w = 0; w < W; w++) {
            squares[w % 2] = fmaf(apart[w], apart[w], squares[w % 2]);
            if (!Op::BACK) continue;
            mine.g += g[k][w], mine.gx = fmaf(g[k][w], apart[w], mine.gx);
        }
    }
    // ANCHOR_END: piece_moments
    mine.squares = squares[0] + squares[1];
    return mine;
}
// What a block finds of a row, or of a part of one, in one pass, LOADS pieces
// of a thread on their way at once.
template <class Op, unsigned int BLOCK, unsigned int LOADS, unsigned int W>
__device__ Moments moments_in(const Row<Op, W>& row, Moments* buffer) {
    Moments running = {};
    // Where sums are written, a warp stays together.
    unsigned int behind = Op::ADDED ? threadIdx.x % WARP : 0;
#pragma unroll 1
    for (unsigned int at = threadIdx.x; at - behind < row.pieces();
         at += BLOCK * LOADS) {
        Piece<W> pieces[LOADS], others[LOADS];
        float x[LOADS][W], g[LOADS][W], weight[W];
#pragma unroll
        for (unsigned int k = 0; k < LOADS; k++)
            row.load(pieces[k], others[k], at + k * BLOCK);
#pragma unroll
        for (unsigned int k = 0; k < LOADS; k++) {
            row.widen(pieces[k], others[k], x[k], g[k]);
            row.template store_sums<true>(x[k], at + k * BLOCK);
            if (Op::BACK) row.weights_of(weight, at + k * BLOCK);
            for (unsigned int w = 0; w < W && Op::BACK; w++)
                g[k][w] = __fmul_rn(g[k][w], weight[w]);
        }
        running = merge<Op>(running, moments_of<Op, BLOCK>(x, g, row, at));
    }
    return block_moments<Op, BLOCK>(
        group_moments<Op, WARP>(running, group_sum<WARP>(running.count)),
        row.cols, buffer);
}
// The second pass. From the end on: what was read last is the likeliest to be
// in a cache still. A thread reads the sums that it wrote.
template <class Op, unsigned int BLOCK, unsigned int LOADS, unsigned int W>
__device__ void write_all(const Row<Op, W>& row, Known of_row) {
    constexpr unsigned int PIECES = Op::ADDED ? 2 * LOADS : LOADS;
    constexpr unsigned int STEP = BLOCK * PIECES;
#pragma unroll 1
    for (unsigned int round = (row.pieces() + STEP - 1) / STEP;
         round-- > 0;) {
        unsigned int at = round * STEP + threadIdx.x;
        Piece<W> pieces[PIECES];
#pragma unroll
        for (unsigned int k = 0; k < PIECES; k++)
            row.load_again(pieces[k], at + k * BLOCK);
#pragma unroll
        for (unsigned int k = 0; k < PIECES; k++) {
            float x[W];
            ::widen(typename Op::Element(), pieces[k], x);
            row.template write<false>(x, at + k * BLOCK, of_row);
        }
    }
}
// ANCHOR_END: stream

// ANCHOR: two
// A block a row, which reads it twice: for its moments, and for the results.
template <class Op, unsigned int BLOCK, unsigned int LOADS>
__device__ void two_passes(Task<typename Op::Element> task) {
    auto& buffer = shared<Moments[BLOCK / WARP]>();
    Row<Op, PER_VECTOR<typename Op::Element>> row(task, blockIdx.x, 0,
                                                  task.cols);
    write_all<Op, BLOCK, LOADS>(
        row, known<Op>(moments_in<Op, BLOCK, LOADS>(row, buffer), task.cols));
}
// ANCHOR_END: two

// ANCHOR: held
// The weights and biases of the columns that a lane holds. Where a lane has
// few pieces, they are loaded with the elements, and no load is waited for at
// the end. Where it has many, they would take registers that hold other rows,
// and they are read when they are needed.
template <unsigned int V, unsigned int W> struct Weights {
    static constexpr bool EARLY = V <= 2;
    Piece<W> weights[V], biases[V];
    template <class Op>
    __device__ void load(const Row<Op, W>& row, unsigned int at,
                         unsigned int step) {
#pragma unroll
        for (unsigned int k = 0; k < V && EARLY; k++) {
            row.load_weights(weights[k], at + k * step),
                row.load_biases(biases[k], at + k * step);
        }
    }
};
// The elements of a row that a lane holds: V pieces, STEP after STEP;
// backward the gradients too.
template <class Op, unsigned int V, unsigned int W> struct Held {
    Piece<W> pieces[V], others[V];
    float x[V][W], y[V][W];
    __device__ void load(const Row<Op, W>& row, unsigned int at,
                         unsigned int step) {
#pragma unroll
        for (unsigned int k = 0; k < V; k++)
            row.load(pieces[k], others[k], at + k * step);
    }
    __device__ void widen(const Row<Op, W>& row) {
#pragma unroll
        for (unsigned int k = 0; k < V; k++)
            row.widen(pieces[k], others[k], x[k], y[k]);
    }
    // How many elements a group of lanes has of the row, or a block.
    template <unsigned int LANES>
    __device__ static unsigned int count(const Row<Op, W>& row,
                                         unsigned int at, unsigned int step) {
        unsigned int first = at - threadIdx.x % LANES, all = 0;
#pragma unroll
        for (unsigned int k = 0; k < V; k++)
            all += row.count(first + k * step, LANES * W);
        return all;
    }
    // The moments of a group of lanes: first its mean, and then all refers to
    // it.
    template <unsigned int LANES>
    __device__ Moments moments(const Row<Op, W>& row,
                               const Piece<W> (&of_weights)[V],
                               unsigned int at, unsigned int step) const {
        float sums[4] = {};
        Moments all = {static_cast<float>(count<LANES>(row, at, step)), 0, 0,
                       0, 0};
        if (Op::CENTRED) {
            // ANCHOR: held_mean
#pragma unroll
            for (unsigned int k = 0; k < V * W; k++)
                sums[k % 4] += x[k / W][k % W];
            float mine = (sums[0] + sums[1]) + (sums[2] + sums[3]);
            float sum = group_sum<LANES>(mine);
            if (all.count > 0) all.mean = __fdiv_rn(sum, all.count);
            // ANCHOR_END: held_mean
        }
        float squares[2] = {}, of_g[2] = {}, of_gx[2] = {};
#pragma unroll
        for (unsigned int k = 0; k < V; k++) {
            float weight[W], apart[W];
            row.apart_of(x[k], at + k * step, all.mean, apart);
            if (Op::BACK)
                ::widen(typename Op::Element(), of_weights[k], weight);
            for (unsigned int w = 0; w < W; w++) {
                squares[w % 2] = fmaf(apart[w], apart[w], squares[w % 2]);
                if (!Op::BACK) continue;
                float g = __fmul_rn(y[k][w], weight[w]);
                of_g[w % 2] += g;
                of_gx[w % 2] = fmaf(g, apart[w], of_gx[w % 2]);
            }
        }
        all.squares = group_sum<LANES>(squares[0] + squares[1]);
        if (Op::BACK)
            all.g = group_sum<LANES>(of_g[0] + of_g[1]),
            all.gx = group_sum<LANES>(of_gx[0] + of_gx[1]);
        return all;
    }
    template <bool WARP_WIDE = true>
    __device__ void write(const Row<Op, W>& row, const Weights<V, W>& early,
                          unsigned int at, unsigned int step,
                          Known of_row) const {
#pragma unroll
        for (unsigned int k = 0; k < V; k++) {
            if (early.EARLY)
                row.template write<true, WARP_WIDE>(
                    x[k], early.weights[k], early.biases[k], at + k * step,
                    of_row);
            else
                row.template write<true, WARP_WIDE>(x[k], at + k * step,
                                                    of_row);
        }
    }
};
// ANCHOR_END: held

// ANCHOR: groups
// Groups of LANES lanes, a row each, of ROWS rows at once. A row is held by
// its lanes.
template <class Op, unsigned int BLOCK, unsigned int LANES, unsigned int ROWS,
          unsigned int V, unsigned int W>
__device__ void groups(Task<typename Op::Element> task) {
    constexpr unsigned int GROUPS = BLOCK / LANES;
    unsigned int lane = threadIdx.x % LANES;
    unsigned long long first =
        static_cast<unsigned long long>(blockIdx.x) * (GROUPS * ROWS) +
        threadIdx.x / LANES;
    Held<Op, V, W> held[ROWS];
    auto row = [&](unsigned int r) {
        return Row<Op, W>(task, first + r * GROUPS, 0, task.cols, LANES * V);
    };
    Weights<V, W> weights;
    for (unsigned int r = 0; r < ROWS; r++) held[r].load(row(r), lane, LANES);
    // The others begin alike: GROUPS is a multiple of 8.
    weights.load(row(0), lane, LANES);
#pragma unroll
    for (unsigned int r = 0; r < ROWS; r++) {
        held[r].widen(row(r));
        Moments all = held[r].template moments<LANES>(row(r), weights.weights,
                                                      lane, LANES);
        held[r].template write<LANES == WARP>(row(r), weights, lane, LANES,
                                              known<Op>(all, task.cols));
    }
}
// ANCHOR_END: groups

// ANCHOR: block
// What the warps know of a row that CLUSTER blocks hold together, one or
// several: in shared memory, then in that of each block. A kernel that takes
// several rows uses the two buffers in turns, so that one barrier a row is
// enough.
template <class Op, unsigned int BLOCK, unsigned int CLUSTER> struct Meeting {
    Moments of_warps[2][BLOCK / WARP];
    Moments of_blocks[2][CLUSTER];
    // `mine` is how many elements the block has of them, `cols` how many
    // there are.
    __device__ Moments all(Moments of_warp, unsigned int mine,
                           unsigned int cols, unsigned int turn,
                           bool is_first) {
        Moments of_block =
            block_moments<Op, BLOCK>(of_warp, mine, of_warps[turn]);
#if __CUDA_ARCH__ >= 900
        if (CLUSTER > 1) {
            auto blocks = cooperative_groups::this_cluster();
            if (is_first)
                blocks.barrier_wait(); // no block writes into one that has
                                       // not begun
            unsigned int rank = blockIdx.x % CLUSTER;
            if (threadIdx.x < CLUSTER)
                *blocks.map_shared_rank(&of_blocks[turn][rank], threadIdx.x) =
                    of_block;
            blocks.sync(); // and none leaves before it has what the others
                           // write
            of_block = group_moments<Op, CLUSTER>(
                of_blocks[turn][threadIdx.x % CLUSTER],
                static_cast<float>(cols));
        }
#endif
        return of_block;
    }
    __device__ void begin() {
#if __CUDA_ARCH__ >= 900
        if (CLUSTER > 1) cooperative_groups::this_cluster().barrier_arrive();
#endif
    }
};
template <class Op, unsigned int BLOCK, unsigned int V, unsigned int CLUSTER>
__device__ void block(Task<typename Op::Element> task) {
    constexpr unsigned int W = PER_VECTOR<typename Op::Element>,
                           STEP = CLUSTER * BLOCK;
    auto& meeting = shared<Meeting<typename Op::Base, BLOCK, CLUSTER>>();
    unsigned int first = blockIdx.x % CLUSTER * BLOCK + threadIdx.x;
    Row<Op, W> row(task, blockIdx.x / CLUSTER, 0, task.cols, STEP * V);
    Held<Op, V, W> held;
    Weights<V, W> weights;
    meeting.begin();
    held.load(row, first, STEP);
    weights.load(row, first, STEP);
    held.widen(row);
    Moments of_warp =
        held.template moments<WARP>(row, weights.weights, first, STEP);
    Moments all =
        meeting.all(of_warp, held.template count<BLOCK>(row, first, STEP),
                    row.cols, 0, true);
    held.write(row, weights, first, STEP, known<Op>(all, task.cols));
}
// ANCHOR_END: block

// ANCHOR: stage
// A row in shared memory, where it takes no registers. A thread copies what
// it reads itself, so that no barrier is needed.
extern __shared__ uint4 stages[];
template <class Op, unsigned int V, unsigned int W, unsigned int BLOCK>
struct Stage {
    using T = typename Op::Element;
    static constexpr unsigned int INPUTS = Op::ADDED || Op::BACK ? 2 : 1;
    uint4 vectors[INPUTS][V][BLOCK];
    __device__ void load(const Row<Op, W>& row, unsigned int at,
                         unsigned int step) {
        unsigned int own =
            shared_address<Op::LARGE>(&vectors[0][0][threadIdx.x]);
#pragma unroll
        for (unsigned int k = 0; k < INPUTS * V; k++) {
            unsigned int input = k % INPUTS, number = k / INPUTS,
                         piece = at + number * step;
            const T* from = input == 0 ? row.in : row.other;
            if (row.aligned && row.is_whole(piece)) {
                copy_async<Op::LARGE>(
                    own + (input * V + number) * BLOCK * sizeof(uint4),
                    from + piece * W);
                continue;
            }
            Piece<W> all;
            row.get(all, from, piece, false, Once());
            vectors[input][number][threadIdx.x] = {
                all.words[0], all.words[1], all.words[2], all.words[3]};
        }
    }
    __device__ Piece<W> piece(unsigned int input, unsigned int k) const {
        uint4 v = vectors[input][k][threadIdx.x];
        return {{v.x, v.y, v.z, v.w}};
    }
    __device__ void read(Held<Op, V, W>& held) const {
#pragma unroll
        for (unsigned int k = 0; k < V; k++) {
            held.pieces[k] = piece(0, k);
            if (INPUTS > 1) held.others[k] = piece(INPUTS - 1, k);
        }
    }
    // Forward, from here on: what a row's elements are. A sum of both inputs
    // is written as soon as it is known, and takes the place of the first.
    __device__ void add(const Row<Op, W>& row, unsigned int at,
                        unsigned int step) {
#pragma unroll 2
        for (unsigned int k = 0; k < V && Op::ADDED; k++) {
            float x[W], y[W];
            row.widen(piece(0, k), piece(INPUTS - 1, k), x, y);
            row.template store_sums<true>(x, at + k * step);
            vectors[0][k][threadIdx.x] = narrowed_vector(T(), x);
        }
    }
    __device__ void element(unsigned int k, float (&x)[W]) const {
        ::widen(T(), piece(0, k), x);
    }
    // The moments of a warp, as Held has them.
    __device__ Moments moments(const Row<Op, W>& row, unsigned int at,
                               unsigned int step) const {
        float sums[4] = {}, squares[2] = {};
        unsigned int count = Held<Op, V, W>::template count<WARP>(row, at,
                                                                  step);
        Moments all = {static_cast<float>(count), 0, 0, 0, 0};
#pragma unroll 2
        for (unsigned int k = 0; k < V && Op::CENTRED; k++) {
            float x[W];
            element(k, x);
            for (unsigned int w = 0; w < W; w++) sums[w % 4] += x[w];
        }
        if (Op::CENTRED) {
            float sum =
                group_sum<WARP>((sums[0] + sums[1]) + (sums[2] + sums[3]));
            if (all.count > 0) all.mean = __fdiv_rn(sum, all.count);
        }
#pragma unroll 2
        for (unsigned int k = 0; k < V; k++) {
            float x[W], apart[W];
            element(k, x);
            row.apart_of(x, at + k * step, all.mean, apart);
            for (unsigned int w = 0; w < W; w++)
                squares[w % 2] = fmaf(apart[w], apart[w], squares[w % 2]);
        }
        all.squares = group_sum<WARP>(squares[0] + squares[1]);
        return all;
    }
};
// ANCHOR_END: stage

#if __CUDA_ARCH__ >= 900
// ANCHOR: mail
// The blocks of a cluster meet without a barrier of all. Each sends what it
// knows to all of them, by stores whose bytes a barrier object of the other
// block counts, and waits for its own object alone. For TURNS turns each has
// an object and a place of its own; then a barrier of the cluster says that
// all have been read.
template <class Op, unsigned int CLUSTER, unsigned int TURNS> struct Mail {
    static constexpr unsigned int KINDS = Op::BACK ? 4 : Op::CENTRED ? 2 : 1;
    float __align__(16) values[TURNS][CLUSTER][KINDS];
    unsigned long long arrived[TURNS];
    __device__ static unsigned int address(const void* shared) {
        return static_cast<unsigned int>(__cvta_generic_to_shared(shared));
    }
    __device__ void begin(unsigned int turn) {
        if (turn % TURNS != 0) return;
        unsigned int object = address(&arrived[threadIdx.x % TURNS]);
        bool has_one = threadIdx.x < TURNS;
        if (turn == 0 && has_one)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n"
                         "fence.mbarrier_init.release.cluster;" ::"r"(object)
                         : "memory");
        cooperative_groups::this_cluster().sync();
        if (has_one)
            asm volatile(
                "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                ::"r"(object),
                "r"(static_cast<unsigned int>(sizeof(values[0])))
                : "memory");
    }
    // The first lanes send, each to the block of its number.
    __device__ void send(Moments mine, unsigned int turn) {
        if (threadIdx.x >= CLUSTER) return;
        unsigned int to, counted, rank = blockIdx.x % CLUSTER;
        asm("mapa.shared::cluster.u32 %0, %1, %2;"
            : "=r"(to)
            : "r"(address(&values[turn % TURNS][rank])), "r"(threadIdx.x));
        asm("mapa.shared::cluster.u32 %0, %1, %2;"
            : "=r"(counted)
            : "r"(address(&arrived[turn % TURNS])), "r"(threadIdx.x));
        if (Op::BACK)
            asm volatile(
                "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes"
                ".v4.f32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(to),
                "f"(mine.squares), "f"(mine.mean), "f"(mine.g), "f"(mine.gx),
                "r"(counted)
                : "memory");
        else if (Op::CENTRED)
            asm volatile(
                "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes"
                ".v2.f32 [%0], {%1, %2}, [%3];" ::"r"(to),
                "f"(mine.squares), "f"(mine.mean), "r"(counted)
                : "memory");
        else
            asm volatile(
                "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes"
                ".f32 [%0], %1, [%2];" ::"r"(to),
                "f"(mine.squares), "r"(counted)
                : "memory");
    }
    __device__ void wait(unsigned int turn) {
        unsigned int done;
        do {
            asm volatile(
                "{\n"
                ".reg .pred done;\n"
                "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 "
                "done, [%1], %2;\n"
                "selp.u32 %0, 1, 0, done;\n"
                "}"
                : "=r"(done)
                : "r"(address(&arrived[turn % TURNS])), "r"(turn / TURNS % 2)
                : "memory");
        } while (!done);
    }
    // What a block sent, of so many elements.
    __device__ Moments received(unsigned int rank, float count,
                                unsigned int turn) const {
        const float* of_block = values[turn % TURNS][rank];
        return {count, Op::CENTRED ? of_block[1] : 0, of_block[0],
                Op::BACK ? of_block[2] : 0, Op::BACK ? of_block[3] : 0};
    }
};
// ANCHOR_END: mail
#endif

// ANCHOR: staged
// Forward: CLUSTER blocks a row, one or several, which hold it in shared
// memory.
template <class Op, unsigned int BLOCK, unsigned int V, unsigned int CLUSTER>
__device__ void staged(Task<typename Op::Element> task) {
    constexpr unsigned int W = PER_VECTOR<typename Op::Element>,
                           STEP = CLUSTER * BLOCK;
    auto& of_warps = shared<Moments[BLOCK / WARP]>();
    auto& stage = *reinterpret_cast<Stage<Op, V, W, BLOCK>*>(stages);
    unsigned int first = blockIdx.x % CLUSTER * BLOCK + threadIdx.x;
    Row<Op, W> row(task, blockIdx.x / CLUSTER, 0, task.cols, STEP * V);
    stage.load(row, first, STEP);
#if __CUDA_ARCH__ >= 900
    auto& mail = shared<Mail<typename Op::Base, CLUSTER, 1>>();
    if (CLUSTER > 1) mail.begin(0);
#endif
    asm volatile("cp.async.wait_all;" ::: "memory");
    stage.add(row, first, STEP);
    auto count = [&](unsigned int at) {
        return Held<Op, V, W>::template count<BLOCK>(row, at, STEP);
    };
    Moments all = block_moments<Op, BLOCK>(stage.moments(row, first, STEP),
                                           count(first), of_warps);
#if __CUDA_ARCH__ >= 900
    if (CLUSTER > 1) {
        unsigned int other = threadIdx.x % CLUSTER;
        mail.send(all, 0), mail.wait(0);
        float of_other =
            static_cast<float>(count(other * BLOCK + threadIdx.x));
        all = group_moments<Op, CLUSTER>(
            mail.received(other, of_other, 0),
            static_cast<float>(task.cols));
    }
#endif
    Known of_row = known<Op>(all, task.cols);
#pragma unroll 2
    for (unsigned int k = 0; k < V; k++) {
        float x[W];
        stage.element(k, x);
        row.template write<false>(x, first + k * STEP, of_row);
    }
}
// ANCHOR_END: staged

// ANCHOR: fixed
// Whether rows so many apart begin alike, and their lanes hold the same
// columns.
template <typename T>
__device__ bool begin_alike(const Task<T>& task, unsigned long long apart) {
    return apart * task.pitch * sizeof(T) % sizeof(uint4) == 0;
}
// The weights and biases of a lane's columns, for all rows that come to it.
template <class Op, unsigned int V, unsigned int W> struct Fixed {
    Piece<W> of_weights[V], of_biases[V];
    __device__ void load(const Row<Op, W>& row, unsigned int at,
                         unsigned int step) {
#pragma unroll
        for (unsigned int k = 0; k < V; k++) {
            row.load_weights(of_weights[k], at + k * step);
            row.load_biases(of_biases[k], at + k * step);
        }
    }
    __device__ void take(const Held<Op, V, W>& held, const Row<Op, W>& row,
                         unsigned int at, unsigned int step, Known of_row) {
#pragma unroll
        for (unsigned int k = 0; k < V; k++)
            row.template write<true>(held.x[k], of_weights[k], of_biases[k],
                                     at + k * step, of_row);
    }
};
// ANCHOR_END: fixed

// ANCHOR: columns
// What a lane has for its columns, over all rows that come to it: their
// weights, and the sums that become gradients.
template <class Op, unsigned int V, unsigned int W> struct Columns {
    // Whether the next row is on its way while one is worked on. Floats leave
    // no registers for that.
    static constexpr bool AHEAD = W > 4;
    Piece<W> of_weights[V];
    float weights[V][W] = {}, biases[V][W] = {};
    __device__ void load(const Row<Op, W>& row, unsigned int at,
                         unsigned int step) {
#pragma unroll
        for (unsigned int k = 0; k < V; k++)
            row.load_weights(of_weights[k], at + k * step);
    }
    // Takes the elements of a row, and writes the gradients of that row's
    // elements.
    __device__ void take(const Held<Op, V, W>& held, const Row<Op, W>& row,
                         unsigned int at, unsigned int step, Known of_row) {
#pragma unroll
        for (unsigned int k = 0; k < V; k++) {
            float weight[W], out[W];
            ::widen(typename Op::Element(), of_weights[k], weight);
            for (unsigned int w = 0; w < W; w++) {
                // ANCHOR: column_sums
                float x = normal<Op>(held.x[k][w], of_row), y = held.y[k][w];
                out[w] = backward<Op>(x, __fmul_rn(y, weight[w]), of_row);
                // y, the gradient of the result, is 0 where no element is.
                weights[k][w] = fmaf(y, x, weights[k][w]);
                biases[k][w] += y;
                // ANCHOR_END: column_sums
            }
            row.store(out, at + k * step);
        }
    }
};
// Where the sums of columns go: those of each team into a row of its own,
// which `gradients` adds up; those of the only team are the gradients.
template <class Op> struct Sums {
    using T = typename Op::Element;
    const Task<T>& task;
    float* to;
    unsigned int team, teams;
    __device__ bool is_only() const { return teams == 1; }
    __device__ float* of_team(unsigned int kind) const {
        return to +
               (static_cast<unsigned long long>(team) * 2 + kind) * task.cols;
    }
    __device__ T* gradients(unsigned int kind) const {
        return task.out + (task.rows + kind) * task.pitch;
    }
    __device__ void put(float sum, unsigned int kind, unsigned int c) const {
        if (is_only()) narrow(sum, gradients(kind)[c]);
        else of_team(kind)[c] = sum;
    }
    template <unsigned int V, unsigned int W>
    __device__ void put(const float (&sums)[V][W], unsigned int kind,
                        Pieces<W> columns, unsigned int at,
                        unsigned int step) const {
#pragma unroll
        for (unsigned int k = 0; k < V; k++) {
            unsigned int piece = at + k * step, left = columns.left(piece),
                         before = columns.before(piece);
            if (is_only()) {
                T* row = gradients(kind) - columns.lead + piece * W;
                store<W>(row, sums[k], left, is_vector(row), before);
                continue;
            }
            float* row = of_team(kind) - columns.lead + piece * W;
            if (W > 1 && columns.is_whole(piece) && is_vector(row)) {
                for (unsigned int w = 0; w + 4 <= W; w += 4) {
                    *reinterpret_cast<float4*>(row + w) = {
                        sums[k][w], sums[k][w + 1], sums[k][w + 2],
                        sums[k][w + 3]};
                }
            } else {
                for (unsigned int w = 0; w < W; w++) {
                    if (w < left && w >= before) row[w] = sums[k][w];
                }
            }
        }
    }
    template <unsigned int V, unsigned int W>
    __device__ void put(const Columns<Op, V, W>& columns, unsigned int lead,
                        unsigned int at, unsigned int step) const {
        Pieces<W> of_row = {task.cols, lead};
        put(columns.weights, 0, of_row, at, step);
        if (Op::CENTRED) put(columns.biases, 1, of_row, at, step);
    }
};
// ANCHOR_END: columns

// ANCHOR: back_groups
// Backward, of rows that a few lanes hold: a block takes rows until there are
// none, and its warps add up their columns in the end.
template <class Op, unsigned int BLOCK, unsigned int LANES, unsigned int V,
          unsigned int W>
__device__ void back_groups(Task<typename Op::Element> task, float* sums) {
    constexpr unsigned int GROUPS = BLOCK / LANES, WARPS = BLOCK / WARP,
                           COLS = LANES * V * W;
    auto& of_warps = shared<float[WARPS][COLS]>();
    unsigned int lane = threadIdx.x % LANES, warp = threadIdx.x / WARP;
    auto row = [&](unsigned long long at) {
        // None is shifted: each would be by itself, and the sums are of all.
        return Row<Op, W>(task, at + threadIdx.x / LANES, 0, task.cols, 0);
    };
    Columns<Op, V, W> columns;
    columns.load(row(0), lane, LANES);
    Held<Op, V, W> held;
    unsigned long long step =
        static_cast<unsigned long long>(gridDim.x) * GROUPS;
    unsigned long long at =
        static_cast<unsigned long long>(blockIdx.x) * GROUPS;
    if (columns.AHEAD) held.load(row(at), lane, LANES);
#pragma unroll 1
    for (; at < task.rows; at += step) {
        if (!columns.AHEAD) held.load(row(at), lane, LANES);
        held.widen(row(at));
        if (columns.AHEAD) held.load(row(at + step), lane, LANES);
        Moments of_row = held.template moments<LANES>(
            row(at), columns.of_weights, lane, LANES);
        columns.take(held, row(at), lane, LANES,
                     known<Op>(of_row, task.cols));
    }
    Sums<Op> to = {task, sums, blockIdx.x, gridDim.x};
    for (unsigned int kind = 0; kind < (Op::CENTRED ? 2 : 1); kind++) {
#pragma unroll
        for (unsigned int k = 0; k < V * W; k++) {
            float sum = kind == 0 ? columns.weights[k / W][k % W]
                                  : columns.biases[k / W][k % W];
            for (unsigned int offset = LANES; offset < WARP; offset *= 2)
                sum += __shfl_xor_sync(FULL, sum, offset);
            if (threadIdx.x % WARP < LANES)
                of_warps[warp][(lane + k / W * LANES) * W + k % W] = sum;
        }
        __syncthreads();
        for (unsigned int c = threadIdx.x; c < min(COLS, task.cols);
             c += BLOCK) {
            float sum = 0;
            for (unsigned int other = 0; other < WARPS; other++)
                sum += of_warps[other][c];
            to.put(sum, kind, c);
        }
        __syncthreads();
    }
}
// ANCHOR_END: back_groups

// ANCHOR: back_block
// Backward, of rows that a block holds, or a cluster: it takes rows until
// there are none, and each thread has its columns.
template <class Op, unsigned int BLOCK, unsigned int V, unsigned int CLUSTER>
__device__ void back_block(Task<typename Op::Element> task, float* sums) {
    constexpr unsigned int W = PER_VECTOR<typename Op::Element>,
                           STEP = CLUSTER * BLOCK;
    auto& meeting = shared<Meeting<typename Op::Base, BLOCK, CLUSTER>>();
    unsigned int first = blockIdx.x % CLUSTER * BLOCK + threadIdx.x,
                 mine = blockIdx.x / CLUSTER, all = gridDim.x / CLUSTER;
    auto row = [&](unsigned long long at) {
        return Row<Op, W>(task, at, 0, task.cols,
                          begin_alike(task, all) ? STEP * V : 0);
    };
    Columns<Op, V, W> columns;
    columns.load(row(mine), first, STEP);
    Held<Op, V, W> held;
    meeting.begin();
    if (columns.AHEAD) held.load(row(mine), first, STEP);
    unsigned int turn = 0;
#pragma unroll 1
    // ANCHOR: row_after_row
    for (unsigned long long at = mine; at < task.rows; at += all, turn++) {
        if (!columns.AHEAD) held.load(row(at), first, STEP);
        held.widen(row(at));
        if (columns.AHEAD) held.load(row(at + all), first, STEP);
        Moments of_warp = held.template moments<WARP>(
            row(at), columns.of_weights, first, STEP);
        unsigned int of_block =
            held.template count<BLOCK>(row(at), first, STEP);
        Moments of_row =
            meeting.all(of_warp, of_block, task.cols, turn % 2, turn == 0);
        columns.take(held, row(at), first, STEP,
                     known<Op>(of_row, task.cols));
    }
    Sums<Op>{task, sums, mine, all}.put(columns, row(mine).lead, first,
                                        STEP);
    // ANCHOR_END: row_after_row
}
// ANCHOR_END: back_block

#if __CUDA_ARCH__ >= 900
// ANCHOR: persistent
// A cluster takes rows until there are none. STAGES - 1 rows are on their way
// while it works on one; what it knows of the columns stays. Returns where
// these begin in their pieces.
template <unsigned int BLOCK, unsigned int CLUSTER, unsigned int STAGES,
          template <class, unsigned int, unsigned int> class Columns,
          class Op, unsigned int V, unsigned int W>
__device__ unsigned int persistent(Task<typename Op::Element> task,
                                   Columns<Op, V, W>& columns) {
    constexpr unsigned int STEP = CLUSTER * BLOCK;
    auto& mail = shared<Mail<typename Op::Base, CLUSTER, 64>>();
    auto& of_warps = shared<Moments[2][BLOCK / WARP]>();
    auto stage = reinterpret_cast<Stage<Op, V, W, BLOCK>*>(stages);
    unsigned int rank = blockIdx.x % CLUSTER,
                 first = rank * BLOCK + threadIdx.x,
                 other = threadIdx.x % CLUSTER;
    unsigned long long team = blockIdx.x / CLUSTER,
                       teams = gridDim.x / CLUSTER;
    auto row = [&](unsigned int turn) {
        return Row<Op, W>(task, team + turn * teams, 0, task.cols,
                          begin_alike(task, teams) ? STEP * V : 0);
    };
    auto ask = [&](unsigned int turn) {
        stage[turn % STAGES].load(row(turn), first, STEP);
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    for (unsigned int turn = 0; turn + 1 < STAGES; turn++) ask(turn);
    columns.load(row(0), first, STEP);
    Held<Op, V, W> held;
    unsigned int count = held.template count<BLOCK>(row(0), first, STEP);
    // Elements of the block whose moments a lane reads.
    float of_other = static_cast<float>(held.template count<BLOCK>(
        row(0), other * BLOCK + threadIdx.x, STEP));
#pragma unroll 1
    for (unsigned int turn = 0; team + turn * teams < task.rows; turn++) {
        mail.begin(turn);
        ask(turn + STAGES - 1);
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 1) : "memory");
        stage[turn % STAGES].read(held);
        held.widen(row(turn));
        Moments of_warp = held.template moments<WARP>(
            row(turn), columns.of_weights, first, STEP);
        mail.send(block_moments<Op, BLOCK>(of_warp, count,
                                           of_warps[turn % 2]), turn);
        mail.wait(turn);
        Moments all = group_moments<Op, CLUSTER>(
            mail.received(other, of_other, turn),
            static_cast<float>(task.cols));
        columns.take(held, row(turn), first, STEP,
                     known<Op>(all, task.cols));
    }
    return row(0).lead;
}
// ANCHOR_END: persistent
#endif

// ANCHOR: parts
// Rows that are too long to be held: `count` blocks a row find the moments of
// a part each.
template <class Op>
__device__ Row<Op, PER_VECTOR<typename Op::Element>> part_of(
    const Task<typename Op::Element>& task, unsigned int count,
    unsigned int length) {
    unsigned int from = blockIdx.x % count * length;
    return {task, blockIdx.x / count, from, min(length, task.cols - from)};
}
template <class Op, unsigned int BLOCK, unsigned int LOADS>
__device__ void parts(Task<typename Op::Element> task, unsigned int count,
                      unsigned int length, Moments* moments) {
    __shared__ Moments buffer[BLOCK / WARP];
    Moments of_part = moments_in<Op, BLOCK, LOADS>(
        part_of<Op>(task, count, length), buffer);
    if (threadIdx.x == 0) moments[blockIdx.x] = of_part;
}
// A row's moments, of those of its parts.
template <class Op, unsigned int BLOCK>
__device__ Moments merged(const Moments* moments, unsigned long long row,
                          unsigned int count, unsigned int cols,
                          Moments* buffer) {
    Moments mine = {};
    for (unsigned int k = threadIdx.x; k < count; k += BLOCK)
        mine = merge<Op>(mine, moments[row * count + k]);
    return block_moments<Op, BLOCK>(
        group_moments<Op, WARP>(mine, group_sum<WARP>(mine.count)), cols,
        buffer);
}
// Forward: each block reads its part once more.
template <class Op, unsigned int BLOCK, unsigned int LOADS>
__device__ void whole(Task<typename Op::Element> task, unsigned int count,
                      unsigned int length, const Moments* moments) {
    __shared__ Moments buffer[BLOCK / WARP];
    Moments all = merged<Op, BLOCK>(moments, blockIdx.x / count, count,
                                    task.cols, buffer);
    write_all<Op, BLOCK, LOADS>(part_of<Op>(task, count, length),
                                known<Op>(all, task.cols));
}
// ANCHOR_END: parts

// ANCHOR: finish
// Backward, a block a row: what its results need.
template <class Op, unsigned int BLOCK>
__device__ void knowing(const Moments* moments, unsigned int cols,
                        unsigned int count, Known* of_rows) {
    __shared__ Moments buffer[BLOCK / WARP];
    Moments all = merged<Op, BLOCK>(moments, blockIdx.x, count, cols, buffer);
    if (threadIdx.x == 0) of_rows[blockIdx.x] = known<Op>(all, cols);
}
// And then each thread takes a few columns of every row, or of one in
// `count`: the elements are read once more, for both kinds of gradients at
// once.
template <class Op, unsigned int BLOCK, unsigned int ROWS>
__device__ void finish(Task<typename Op::Element> task, unsigned int count,
                       const Known* of_rows, float* sums) {
    constexpr unsigned int W = PER_VECTOR<typename Op::Element>;
    unsigned int at = blockIdx.x / count * BLOCK + threadIdx.x,
                 first = blockIdx.x % count;
    auto row = [&](unsigned long long index) {
        return Row<Op, W>(
            task, index, 0, task.cols,
            begin_alike(task, count) ? gridDim.x / count * BLOCK : 0);
    };
    Columns<Op, 1, W> columns;
    columns.load(row(first), at, 0);
#pragma unroll 1
    for (unsigned long long begin = first; begin < task.rows;
         begin += static_cast<unsigned long long>(ROWS) * count) {
        Held<Op, 1, W> held[ROWS];
        auto index = [&](unsigned int r) {
            return begin + static_cast<unsigned long long>(r) * count;
        };
        for (unsigned int r = 0; r < ROWS; r++)
            held[r].load(row(index(r)), at, 0);
        for (unsigned int r = 0; r < ROWS; r++) {
            held[r].widen(row(index(r)));
            if (index(r) < task.rows)
                columns.take(held[r], row(index(r)), at, 0,
                             of_rows[index(r)]);
        }
    }
    Sums<Op>{task, sums, first, count}.put(columns, row(first).lead, at, 0);
}
// ANCHOR_END: finish

// ANCHOR: gradients
// The gradients of weights and biases: the sums of all teams, column by
// column. A warp has 32 columns; of many teams 32 warps share them, each
// takes every 32nd team's, and the first adds up what they have. Every
// addition has its place: the same bits in every run.
template <class Op, unsigned int BLOCK, unsigned int SHARING>
__device__ void gradients(const float* sums, unsigned int teams,
                          Task<typename Op::Element> task) {
    __shared__ float shared[BLOCK / WARP][WARP];
    unsigned int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP,
                 share = warp % SHARING;
    unsigned int strips = (task.cols + WARP - 1) / WARP,
                 strip =
                     blockIdx.x * (BLOCK / WARP / SHARING) + warp / SHARING;
    unsigned int kind = strip / max(strips, 1u),
                 c = strip % max(strips, 1u) * WARP + lane;
    bool is_there = c < task.cols && kind < (Op::CENTRED ? 2 : 1);
    float sum = 0;
    if (is_there) {
#pragma unroll 8
        // ANCHOR: add_teams
        for (unsigned int b = share; b < teams; b += SHARING) {
            sum += sums[(static_cast<unsigned long long>(b) * 2 + kind) *
                            task.cols +
                        c];
        }
        // ANCHOR_END: add_teams
    }
    if (SHARING > 1) {
        shared[warp][lane] = sum;
        __syncthreads();
        for (unsigned int other = 1; other < SHARING && share == 0; other++)
            sum += shared[warp + other][lane];
    }
    if (is_there && share == 0)
        narrow(sum, task.out[(task.rows + kind) * task.pitch + c]);
}
// ANCHOR_END: gradients

// ANCHOR: entries
// C names, so that a host program finds each instance by the name that the
// reader sees: block_layer_norm_t256v2_f32.
#define TASK(T) \
    const T *in, const T *other, T *out, unsigned long long rows, \
    unsigned int cols, unsigned long long pitch, const T *weights, \
    const T *biases
#define GIVEN {in, other, out, rows, cols, pitch, weights, biases}
#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
// Threads of a multiprocessor by the elements that each holds. Plain rows
// need no more registers than that leaves; what other rows need besides goes
// to memory.
template <class Op>
__device__ constexpr unsigned int at_once(unsigned int held) {
    return !Op::MAY_BE_PLAIN ? 0
           : held <= 4       ? 2048
           : held <= 8       ? 1280
           : held <= 12      ? 1536
           : held <= 32      ? 1024
           : held <= 48      ? 768
           : held <= 64      ? 512
                             : 0;
}
#define PLAIN_KERNEL(THREADS, OP, HELD) \
    extern "C" __global__ void __launch_bounds__( \
        THREADS, \
        at_once<OP>(HELD) < THREADS ? 1 : at_once<OP>(HELD) / THREADS)
// What a kernel does, by how its rows lie.
#define EITHER(OP, T, ...) \
    Task<T> task = GIVEN; \
    if (OP<T>::MAY_BE_PLAIN && is_plain<OP<T>>(task)) { \
        using Op = Plain<OP<T>>; \
        __VA_ARGS__; \
    } else { \
        using Op = OP<T>; \
        __VA_ARGS__; \
    }
#define THREE(OP, T, NAME, TYPE) \
    KERNEL(256) three_passes_##NAME##_##TYPE(TASK(T)) { \
        three_passes<OP<T>, 256>(GIVEN); \
    }
#define TWO(OP, T, NAME, TYPE, THREADS, LOADS) \
    PLAIN_KERNEL(THREADS, OP<T>, LOADS * PER_VECTOR<T>) \
    two_passes_##NAME##_t##THREADS##u##LOADS##_##TYPE(TASK(T)) { \
        EITHER(OP, T, two_passes<Op, THREADS, LOADS>(task)) \
    }
#define GROUPS(OP, T, NAME, TYPE, LANES, ROWS, V, W) \
    PLAIN_KERNEL(256, OP<T>, ROWS * V * W + (ROWS > 1 ? 8 : 0)) \
    groups_##NAME##_l##LANES##r##ROWS##v##V##w##W##_##TYPE(TASK(T)) { \
        EITHER(OP, T, groups<Op, 256, LANES, ROWS, V, W>(task)) \
    }
#define BLOCK(OP, T, NAME, TYPE, THREADS, V) \
    PLAIN_KERNEL(THREADS, OP<T>, V * PER_VECTOR<T>) \
    block_##NAME##_t##THREADS##v##V##_##TYPE(TASK(T)) { \
        EITHER(OP, T, block<Op, THREADS, V, 1>(task)) \
    }
#define CLUSTER(OP, T, NAME, TYPE, BLOCKS, THREADS, V) \
    KERNEL(THREADS) \
    cluster_##NAME##_c##BLOCKS##t##THREADS##v##V##_##TYPE(TASK(T)) { \
        EITHER(OP, T, block<Op, THREADS, V, BLOCKS>(task)) \
    }
#define STAGED(OP, T, NAME, TYPE, BLOCKS, THREADS, V) \
    extern "C" __global__ void __launch_bounds__( \
        THREADS, room_for(THREADS, V * (OP<T>::ADDED ? 2 : 1))) \
        staged_##NAME##_c##BLOCKS##t##THREADS##v##V##_##TYPE(TASK(T)) { \
        EITHER(OP, T, staged<Op, THREADS, V, BLOCKS>(task)) \
    }
// 512 threads of a multiprocessor take turns.
#define PERSISTENT_KERNEL(THREADS) \
    extern "C" __global__ void __launch_bounds__(THREADS, 512 / THREADS)
#define PERSISTENT(OP, T, NAME, TYPE, BLOCKS, THREADS, V, STAGES) \
    PERSISTENT_KERNEL(THREADS) \
    persistent_##NAME##_c##BLOCKS##t##THREADS##v##V##s##STAGES##_##TYPE( \
        TASK(T)) { \
        EITHER(OP, T, Fixed<Op, V, PER_VECTOR<T>> columns; \
               persistent<THREADS, BLOCKS, STAGES>(task, columns)) \
    }
#define PARTS(OP, T, NAME, TYPE, THREADS, LOADS) \
    KERNEL(THREADS) \
    parts_##NAME##_t##THREADS##u##LOADS##_##TYPE( \
        TASK(T), unsigned int count, unsigned int length, \
        Moments* moments) { \
        EITHER(OP, T, \
               parts<Op, THREADS, LOADS>(task, count, length, moments)) \
    }
#define WHOLE(OP, T, NAME, TYPE, THREADS, LOADS) \
    PARTS(OP, T, NAME, TYPE, THREADS, LOADS) \
    KERNEL(THREADS) \
    whole_##NAME##_t##THREADS##u##LOADS##_##TYPE( \
        TASK(T), unsigned int count, unsigned int length, \
        const Moments* moments) { \
        EITHER(OP, T, \
               whole<Op, THREADS, LOADS>(task, count, length, moments)) \
    }
// Backward as many threads of a multiprocessor take turns as it has registers
// for.
#define RESIDENT(HELD) ((HELD) > 16 ? 256 : (HELD) > 8 ? 512 : 768)
#define BACK_KERNEL(THREADS, HELD) \
    extern "C" __global__ void __launch_bounds__( \
        THREADS, THREADS < RESIDENT(HELD) ? RESIDENT(HELD) / THREADS : 1)
#define FINISH(OP, T, NAME, TYPE, THREADS, ROWS) \
    BACK_KERNEL(THREADS, 8) \
    finish_##NAME##_t##THREADS##r##ROWS##_##TYPE( \
        TASK(T), unsigned int count, const Known* of_rows, float* sums) { \
        EITHER(OP, T, finish<Op, THREADS, ROWS>(task, count, of_rows, sums)) \
    }
#define BACK_GROUPS(OP, T, NAME, TYPE, LANES, V, W) \
    BACK_KERNEL(256, V * W) \
    groups_##NAME##_l##LANES##v##V##w##W##_##TYPE(TASK(T), float* sums) { \
        EITHER(OP, T, back_groups<Op, 256, LANES, V, W>(task, sums)) \
    }
#define BACK_BLOCK(OP, T, NAME, TYPE, THREADS, V) \
    BACK_KERNEL(THREADS, V * PER_VECTOR<T>) \
    block_##NAME##_t##THREADS##v##V##_##TYPE(TASK(T), float* sums) { \
        EITHER(OP, T, back_block<Op, THREADS, V, 1>(task, sums)) \
    }
#define GRADIENTS(OP, T, NAME, TYPE, THREADS, SHARING) \
    KERNEL(THREADS) \
    gradients_##NAME##_t##THREADS##s##SHARING##_##TYPE( \
        TASK(T), unsigned int teams, const float* sums) { \
        gradients<OP<T>, THREADS, SHARING>(sums, teams, GIVEN); \
    }
#define BACK_CLUSTER(OP, T, NAME, TYPE, BLOCKS, THREADS, V) \
    BACK_KERNEL(THREADS, V * PER_VECTOR<T>) \
    cluster_##NAME##_c##BLOCKS##t##THREADS##v##V##_##TYPE(TASK(T), \
                                                          float* sums) { \
        EITHER(OP, T, back_block<Op, THREADS, V, BLOCKS>(task, sums)) \
    }

#define BACK_PERSISTENT(OP, T, NAME, TYPE, BLOCKS, THREADS, V, STAGES) \
    PERSISTENT_KERNEL(THREADS) \
    persistent_##NAME##_c##BLOCKS##t##THREADS##v##V##s##STAGES##_##TYPE( \
        TASK(T), float* sums) { \
        EITHER(OP, T, Columns<Op, V, PER_VECTOR<T>> columns; \
               unsigned int lead = \
                   persistent<THREADS, BLOCKS, STAGES>(task, columns); \
               Sums<Op>{task, sums, blockIdx.x / BLOCKS, gridDim.x / BLOCKS} \
                   .put(columns, lead, \
                        blockIdx.x % BLOCKS * THREADS + threadIdx.x, \
                        BLOCKS * THREADS)) \
    }

// The shapes that every device can run. A GPU gets others that suit the
// input, compiled from this file when they are first needed.
#ifndef WANTED_ALONE
#if __CUDA_ARCH__ >= 900
#define CLUSTERS(KIND, OP, T, NAME, TYPE) KIND(OP, T, NAME, TYPE, 8, 256, 2)
#define TURNS(KIND, OP, T, NAME, TYPE) KIND(OP, T, NAME, TYPE, 2, 64, 2, 2)
#define STAGES(OP, T, NAME, TYPE) STAGED(OP, T, NAME, TYPE, 2, 64, 2)
#else
#define STAGES(OP, T, NAME, TYPE)
#define CLUSTERS(KIND, OP, T, NAME, TYPE)
#define TURNS(KIND, OP, T, NAME, TYPE)
#endif
#define FORWARD(OP, T, NAME, TYPE, PER) \
    THREE(OP, T, NAME, TYPE) \
    TWO(OP, T, NAME, TYPE, 256, 2) \
    GROUPS(OP, T, NAME, TYPE, 8, 1, 2, PER) \
    GROUPS(OP, T, NAME, TYPE, 32, 1, 2, PER) \
    BLOCK(OP, T, NAME, TYPE, 64, 2) \
    BLOCK(OP, T, NAME, TYPE, 256, 2) \
    BLOCK(OP, T, NAME, TYPE, 512, 2) \
    BLOCK(OP, T, NAME, TYPE, 1024, 2) \
    CLUSTERS(CLUSTER, OP, T, NAME, TYPE) \
    TURNS(PERSISTENT, OP, T, NAME, TYPE) \
    STAGES(OP, T, NAME, TYPE) \
    WHOLE(OP, T, NAME, TYPE, 256, 2)
#define BACKWARD(OP, T, NAME, TYPE, PER) \
    BACK_GROUPS(OP, T, NAME, TYPE, 8, 2, PER) \
    BACK_GROUPS(OP, T, NAME, TYPE, 32, 2, PER) \
    BACK_BLOCK(OP, T, NAME, TYPE, 256, 2) \
    CLUSTERS(BACK_CLUSTER, OP, T, NAME, TYPE) \
    TURNS(BACK_PERSISTENT, OP, T, NAME, TYPE) \
    PARTS(OP, T, NAME, TYPE, 256, 2) \
    FINISH(OP, T, NAME, TYPE, 256, 2) \
    KERNEL(256) knowing_##NAME##_##TYPE( \
        const Moments* moments, unsigned int cols, unsigned int count, \
        Known* of_rows) { \
        knowing<OP<T>, 256>(moments, cols, count, of_rows); \
    } \
    GRADIENTS(OP, T, NAME, TYPE, 256, 8) \
    GRADIENTS(OP, T, NAME, TYPE, 256, 1)
#define OPERATIONS(T, TYPE, PER) \
    FORWARD(LayerNorm, T, layer_norm, TYPE, PER) \
    FORWARD(RmsNorm, T, rms_norm, TYPE, PER) \
    FORWARD(AddLayerNorm, T, add_layer_norm, TYPE, PER) \
    FORWARD(AddRmsNorm, T, add_rms_norm, TYPE, PER) \
    BACKWARD(LayerNormBackward, T, layer_norm_backward, TYPE, PER) \
    BACKWARD(RmsNormBackward, T, rms_norm_backward, TYPE, PER)
OPERATIONS(float, f32, 4)
OPERATIONS(bf16, bf16, 8)
OPERATIONS(f16, f16, 8)
#endif
// ANCHOR_END: entries

// Norms as programs use them: any epsilon, weights and biases or none, a
// residual that is added first, what the way back needs kept, and 8-bit
// results. What a chapter's kernel has for a template parameter is a number
// here: a branch that all threads take alike costs nothing beside memory, and
// one kernel serves all types.
enum Format : unsigned int { AS_F32, AS_BF16, AS_F16, AS_E4M3, AS_I8 };
constexpr unsigned int EIGHT = 8; // elements that a thread takes at once
struct Request {
    const void *in, *other; // forward the residual or null, backward the
                            // gradient of the results
    void *out, *sums;       // results; input and residual added up, or null
    float *means, *scales;  // means and reciprocal deviations, one a row, or
                            // null
    float* steps;           // what results of 8 bits are multiples of, a row
    const void *weights, *biases; // one a column, or null
    unsigned long long rows;
    unsigned int cols;
    unsigned long long pitch;
    float epsilon;
    unsigned int formats; // 4 bits each: elements, weights, biases, results,
                          // and 1 for a norm that takes the mean away
    __device__ unsigned int format(unsigned int of) const {
        return (formats >> (4 * of)) & 15;
    }
    __device__ bool is_centred() const { return format(4) != 0; }
    __device__ bool quantises() const { return format(3) >= AS_E4M3; }
};
// The largest finite number of a format of 8 bits.
__device__ float largest(unsigned int format) {
    return format == AS_I8 ? 127.0f : 448.0f;
}

// Eight elements as memory has them. Those that are not there are 0.
struct Eight { unsigned int words[EIGHT]; };
template <bool KEPT = false>
__device__ void load(Eight& eight, const void* array, unsigned int format,
                     unsigned long long at, unsigned int left) {
    bool is_wide = format == AS_F32;
    const char* from =
        static_cast<const char*>(array) + at * (is_wide ? 4 : 2);
    if (left >= EIGHT && is_vector(from)) {
        auto vector = [&](unsigned int k) {
            const uint4* address = reinterpret_cast<const uint4*>(from) + k;
            uint4 v = KEPT ? __ldg(address) : load_vector(address);
            eight.words[4 * k] = v.x, eight.words[4 * k + 1] = v.y;
            eight.words[4 * k + 2] = v.z, eight.words[4 * k + 3] = v.w;
        };
        vector(0);
        if (is_wide) vector(1);
        return;
    }
    eight = {};
    for (unsigned int k = 0; k < EIGHT; k++) {
        if (k >= left) continue;
        if (is_wide) {
            eight.words[k] = reinterpret_cast<const unsigned int*>(from)[k];
        } else {
            unsigned int half =
                reinterpret_cast<const unsigned short*>(from)[k];
            eight.words[k / 2] |= half << 16 * (k % 2);
        }
    }
}
__device__ void widen(const Eight& eight, unsigned int format,
                      float (&x)[EIGHT]) {
    if (format == AS_F32) {
        for (unsigned int k = 0; k < EIGHT; k++)
            x[k] = __uint_as_float(eight.words[k]);
    } else {
        Piece<8> piece = {{eight.words[0], eight.words[1], eight.words[2],
                           eight.words[3]}};
        if (format == AS_F16) widen(f16(), piece, x);
        else widen(bf16(), piece, x);
    }
}
template <typename T> __device__ float rounded(float x) {
    T narrowed;
    narrow(x, narrowed);
    return widen(narrowed);
}
// E4M3: a sign, 4 bits of exponent and 3 of mantissa, no infinity, one NaN.
// To the nearest, ties to even, and at most 448 in magnitude. It is done with
// integers since only sm_89 and newer have an instruction for it.
__device__ unsigned int e4m3(float x) {
    constexpr unsigned int NONE = 0x7f;
    unsigned int sign = __float_as_uint(x) >> 24 & 0x80;
    float magnitude = fminf(fabsf(x), 448.0f);
    unsigned int bits = __float_as_uint(magnitude), code;
    if (magnitude < 0x1p-6f) {
        // Multiples of 2^-9: this sum has no place for smaller ones.
        constexpr float PLACES = 0x1p14f;
        code = __float_as_uint(__fadd_rn(magnitude, PLACES)) -
               __float_as_uint(PLACES);
    } else {
        // 20 bits of mantissa go; exponents begin at -7, not at -127.
        code = ((bits + 0x7ffff + (bits >> 20 & 1)) >> 20) - (120 << 3);
    }
    return x == x ? sign | code : NONE;
}
__device__ unsigned int coded(float x, unsigned int format) {
    if (format == AS_E4M3) return e4m3(x);
    return min(max(__float2int_rn(x), -128), 127) & 0xff; // NaN is 0
}
__device__ void store(void* array, unsigned int format, unsigned long long at,
                      const float (&x)[EIGHT], unsigned int left) {
    if (format == AS_F32) {
        float* to = static_cast<float*>(array) + at;
        for (unsigned int k = 0; k < EIGHT; k += 4) {
            const float four[4] = {x[k], x[k + 1], x[k + 2], x[k + 3]};
            store<4>(to + k, four, max(left, k) - k, is_vector(to));
        }
    } else if (format == AS_F16) {
        f16* to = static_cast<f16*>(array) + at;
        store<EIGHT>(to, x, left, is_vector(to));
    } else {
        bf16* to = static_cast<bf16*>(array) + at;
        store<EIGHT>(to, x, left, is_vector(to));
    }
}
__device__ void store_codes(void* array, unsigned int format,
                            unsigned long long at, const float (&x)[EIGHT],
                            unsigned int left) {
    unsigned char* to = static_cast<unsigned char*>(array) + at;
    unsigned int words[2] = {};
    for (unsigned int k = 0; k < EIGHT; k++)
        words[k / 4] |= coded(x[k], format) << 8 * (k % 4);
    if (left >= EIGHT &&
        reinterpret_cast<unsigned long long>(to) % sizeof(uint2) == 0) {
        *reinterpret_cast<uint2*>(to) = {words[0], words[1]};
        return;
    }
    for (unsigned int k = 0; k < EIGHT; k++) {
        if (k < left) to[k] = words[k / 4] >> 8 * (k % 4);
    }
}

// Teams that have a row: so many lanes of a warp, or a block. What they find
// is in all their threads, in one order of additions.
struct Lanes {
    unsigned int count;
    __device__ unsigned int rank() const { return threadIdx.x % count; }
    __device__ float sum(float x) {
        for (unsigned int offset = count / 2; offset > 0; offset /= 2)
            x += __shfl_xor_sync(FULL, x, offset);
        return x;
    }
    // Of magnitudes as bits, where a NaN is above infinity.
    __device__ unsigned int most(unsigned int x) {
        for (unsigned int offset = count / 2; offset > 0; offset /= 2)
            x = max(x, __shfl_xor_sync(FULL, x, offset));
        return x;
    }
};
struct Threads {
    unsigned int (&buffers)[2][WARP]; // in turns: one barrier is enough
    unsigned int count, turn;
    __device__ unsigned int rank() const { return threadIdx.x; }
    // What the first lane of each warp has, in each warp by its lanes.
    __device__ unsigned int shared(unsigned int of_warp) {
        unsigned int* buffer = buffers[turn % 2];
        unsigned int lane = threadIdx.x % WARP;
        turn++;
        if (lane == 0) buffer[threadIdx.x / WARP] = of_warp;
        __syncthreads();
        return lane < count / WARP ? buffer[lane] : 0;
    }
    __device__ float sum(float x) {
        x = group_sum<WARP>(x);
        return group_sum<WARP>(
            __uint_as_float(shared(__float_as_uint(x))));
    }
    __device__ unsigned int most(unsigned int x) {
        Lanes warp = {WARP};
        return warp.most(shared(warp.most(x)));
    }
};

// A row by eights: those of a thread are `team.count` apart.
struct Line {
    const Request& request;
    unsigned long long index, begin;
    unsigned int cols;
    __device__ Line(const Request& request, unsigned long long index)
        : request(request), index(index), begin(index * request.pitch),
          cols(index < request.rows ? request.cols : 0) {}
    __device__ unsigned int left(unsigned int at) const {
        return max(at * EIGHT, cols) - at * EIGHT;
    }
    __device__ unsigned int eights() const {
        return (cols + EIGHT - 1) / EIGHT;
    }
    __device__ void load(Eight& eight, const void* array,
                         unsigned int at) const {
        ::load(eight, array, request.format(0), begin + at * EIGHT, left(at));
    }
    __device__ void store(void* array, const float (&x)[EIGHT],
                          unsigned int at) const {
        ::store(array, request.format(0), begin + at * EIGHT, x, left(at));
    }
    // N eights from `at` on, `step` apart, the residual added and rounded to
    // the type of the elements.
    template <unsigned int N>
    __device__ void load(float (&x)[N][EIGHT], unsigned int at,
                         unsigned int step) const {
        Eight eights[N], others[N];
        bool adds = request.other != nullptr;
        for (unsigned int k = 0; k < N; k++)
            load(eights[k], request.in, at + k * step);
        if (adds) {
            for (unsigned int k = 0; k < N; k++)
                load(others[k], request.other, at + k * step);
        }
        for (unsigned int k = 0; k < N; k++) {
            widen(eights[k], request.format(0), x[k]);
            if (!adds) continue;
            float other[EIGHT];
            widen(others[k], request.format(0), other);
            for (unsigned int w = 0; w < EIGHT; w++) {
                x[k][w] = __fadd_rn(x[k][w], other[w]);
                if (request.format(0) == AS_BF16)
                    x[k][w] = rounded<bf16>(x[k][w]);
                if (request.format(0) == AS_F16)
                    x[k][w] = rounded<f16>(x[k][w]);
            }
        }
    }
    // One number a column, or `otherwise` where there is no array.
    __device__ void column(float (&x)[EIGHT], const void* array,
                           unsigned int format, float otherwise,
                           unsigned int at) const {
        for (unsigned int w = 0; w < EIGHT; w++) x[w] = otherwise;
        if (array == nullptr) return;
        Eight eight;
        ::load<true>(eight, array, format, at * EIGHT, left(at));
        widen(eight, format, x);
    }
    __device__ void weights(float (&x)[EIGHT], unsigned int at) const {
        column(x, request.weights, request.format(1), 1, at);
    }
    // The results of elements, in their place.
    __device__ void normalise(float (&x)[EIGHT], Known of_row,
                              unsigned int at) const {
        float weight[EIGHT], bias[EIGHT];
        weights(weight, at);
        // -0 added to -0 stays so.
        column(bias, request.biases, request.format(2), -0.0f, at);
        for (unsigned int w = 0; w < EIGHT; w++) {
            float normal =
                __fmul_rn(__fadd_rn(x[w], -of_row.mean), of_row.scale);
            x[w] = fmaf(normal, weight[w], bias[w]);
        }
    }
    // The largest magnitude of results, as bits.
    __device__ unsigned int most(const float (&y)[EIGHT],
                                 unsigned int at) const {
        unsigned int all = 0, there = left(at);
        for (unsigned int w = 0; w < EIGHT; w++)
            all = max(all, w < there ? __float_as_uint(fabsf(y[w])) : 0);
        return all;
    }
    // Results of 8 bits; `inverse` is what they are multiplied by.
    __device__ void quantise(const float (&y)[EIGHT], float inverse,
                             unsigned int at) const {
        float scaled[EIGHT];
        for (unsigned int w = 0; w < EIGHT; w++)
            scaled[w] = __fmul_rn(y[w], inverse);
        store_codes(request.out, request.format(3), begin + at * EIGHT,
                    scaled, left(at));
    }
    // What results of 8 bits are multiplied by, of the largest magnitude as
    // bits; and the row's scale is written.
    template <class Team>
    __device__ float inverse(unsigned int most, const Team& team) const {
        constexpr unsigned int SMALLEST = 27 << 23; // 2^-100
        float all = __uint_as_float(max(most, SMALLEST)),
              top = largest(request.format(3));
        if (team.rank() == 0 && index < request.rows)
            request.steps[index] = __fdiv_rn(all, top);
        return __fdiv_rn(top, all);
    }
    // Mean and reciprocal deviation, of the sum of squared distances.
    __device__ Known known(float mean, float squares) const {
        float variance =
            __fdiv_rn(squares, static_cast<float>(request.cols));
        return {mean,
                __frcp_rn(
                    __fsqrt_rn(__fadd_rn(variance, request.epsilon))),
                0, 0};
    }
    template <class Team>
    __device__ void keep(Known of_row, const Team& team) const {
        if (team.rank() != 0 || index >= request.rows) return;
        if (request.means != nullptr) request.means[index] = of_row.mean;
        if (request.scales != nullptr) request.scales[index] = of_row.scale;
    }
};

// A row that a team holds, V eights a thread.
template <unsigned int V, class Team>
__device__ Known known_of(const Line& line, const float (&x)[V][EIGHT],
                          Team& team) {
    float mean = 0, sums[4] = {}, squares[4] = {};
    if (line.request.is_centred()) {
        for (unsigned int k = 0; k < V * EIGHT; k++)
            sums[k % 4] += x[k / EIGHT][k % EIGHT];
        mean = __fdiv_rn(
            team.sum((sums[0] + sums[1]) + (sums[2] + sums[3])),
            static_cast<float>(line.request.cols));
    }
    for (unsigned int k = 0; k < V; k++) {
        unsigned int there = line.left(team.rank() + k * team.count);
        for (unsigned int w = 0; w < EIGHT; w++) {
            float apart = w < there ? __fadd_rn(x[k][w], -mean) : 0;
            squares[w % 4] = fmaf(apart, apart, squares[w % 4]);
        }
    }
    return line.known(
        mean,
        team.sum((squares[0] + squares[1]) + (squares[2] + squares[3])));
}
template <unsigned int V, class Team>
__device__ void forward_held(const Line& line, Team team) {
    const Request& request = line.request;
    float x[V][EIGHT];
    line.load(x, team.rank(), team.count);
    Known of_row = known_of(line, x, team);
    line.keep(of_row, team);
    unsigned int all = 0;
#pragma unroll
    for (unsigned int k = 0; k < V; k++) {
        unsigned int at = team.rank() + k * team.count;
        if (request.sums != nullptr) line.store(request.sums, x[k], at);
        line.normalise(x[k], of_row, at);
        if (request.quantises()) all = max(all, line.most(x[k], at));
        else line.store(request.out, x[k], at);
    }
    if (!request.quantises()) return;
    float inverse = line.inverse(team.most(all), team);
#pragma unroll
    for (unsigned int k = 0; k < V; k++)
        line.quantise(x[k], inverse, team.rank() + k * team.count);
}
// A row that is too long for that: a block goes through it for its moments,
// and again for its results. Around 0 the moments of parts merge too.
template <unsigned int V>
__device__ Known known_in(const Line& line, Threads& team) {
    using Op = LayerNorm<float>;
    bool is_centred = line.request.is_centred();
    Moments running = {};
#pragma unroll 1
    for (unsigned int at = team.rank(); at < line.eights();
         at += V * team.count) {
        float x[V][EIGHT], sums[4] = {}, squares[4] = {};
        Moments part = {};
        line.load(x, at, team.count);
        for (unsigned int k = 0; k < V; k++)
            part.count += min(line.left(at + k * team.count), EIGHT);
        for (unsigned int k = 0; k < V * EIGHT; k++)
            sums[k % 4] += x[k / EIGHT][k % EIGHT];
        if (is_centred)
            part.mean = __fdiv_rn((sums[0] + sums[1]) + (sums[2] + sums[3]),
                                  part.count);
        for (unsigned int k = 0; k < V; k++) {
            unsigned int there = line.left(at + k * team.count);
            for (unsigned int w = 0; w < EIGHT; w++) {
                float apart = w < there ? __fadd_rn(x[k][w], -part.mean) : 0;
                squares[w % 4] = fmaf(apart, apart, squares[w % 4]);
            }
        }
        part.squares = (squares[0] + squares[1]) + (squares[2] + squares[3]);
        running = merge<Op>(running, part);
    }
    float mean = 0, apart = 0;
    if (is_centred) {
        mean = __fdiv_rn(team.sum(__fmul_rn(running.count, running.mean)),
                         static_cast<float>(line.request.cols));
        if (running.count > 0) apart = running.mean - mean;
    }
    return line.known(
        mean, team.sum(fmaf(__fmul_rn(running.count, apart), apart,
                            running.squares)));
}
// Calls `each` for every V eights of a thread, from the end on: what was read
// last is the likeliest to be in a cache still.
template <unsigned int V, class Team, class Each>
__device__ void backwards(const Line& line, const Team& team, Each each) {
    unsigned int step = V * team.count;
#pragma unroll 1
    for (unsigned int round = (line.eights() + step - 1) / step;
         round-- > 0;)
        each(round * step + team.rank());
}
// Results of 8 bits have one more in between, for the largest magnitude.
template <unsigned int V>
__device__ void forward_stream(const Line& line, Threads team) {
    const Request& request = line.request;
    Known of_row = known_in<V>(line, team);
    line.keep(of_row, team);
    unsigned int all = 0;
    float inverse = 0;
#pragma unroll 1
    for (bool is_last = !request.quantises();; is_last = true) {
        backwards<V>(line, team, [&](unsigned int at) {
            float x[V][EIGHT];
            line.load(x, at, team.count);
#pragma unroll
            for (unsigned int k = 0; k < V; k++) {
                unsigned int here = at + k * team.count;
                if (is_last && request.sums != nullptr)
                    line.store(request.sums, x[k], here);
                line.normalise(x[k], of_row, here);
                if (!is_last) all = max(all, line.most(x[k], here));
                else if (request.quantises())
                    line.quantise(x[k], inverse, here);
                else line.store(request.out, x[k], here);
            }
        });
        if (is_last) return;
        inverse = line.inverse(team.most(all), team);
    }
}

// The way back, with what was kept of each row. N eights of x and of the
// gradients of the results become normalised elements and gradients times
// weights.
template <unsigned int N> struct Back {
    float normal[N][EIGHT], y[N][EIGHT];
    __device__ void load(const Line& line, Known of_row, unsigned int at,
                         unsigned int step) {
        Eight eights[N], others[N];
        for (unsigned int k = 0; k < N; k++) {
            line.load(eights[k], line.request.in, at + k * step);
            line.load(others[k], line.request.other, at + k * step);
        }
        for (unsigned int k = 0; k < N; k++) {
            float x[EIGHT];
            widen(eights[k], line.request.format(0), x);
            widen(others[k], line.request.format(0), y[k]);
            for (unsigned int w = 0; w < EIGHT; w++)
                normal[k][w] = ::normal<LayerNorm<float>>(x[w], of_row);
        }
    }
    // Adds to sums of g and of g times the normalised element. A gradient is 0
    // where no element is.
    __device__ void add(unsigned int k, const float (&weight)[EIGHT],
                        float (&of_g)[2], float (&of_gx)[2]) const {
        for (unsigned int w = 0; w < EIGHT; w++) {
            float g = __fmul_rn(y[k][w], weight[w]);
            of_g[w % 2] += g;
            of_gx[w % 2] = fmaf(g, normal[k][w], of_gx[w % 2]);
        }
    }
    // Writes the gradients of the elements.
    __device__ void write(const Line& line, unsigned int k,
                          const float (&weight)[EIGHT], Known of_row,
                          unsigned int at) const {
        float out[EIGHT];
        for (unsigned int w = 0; w < EIGHT; w++)
            out[w] = backward<LayerNorm<float>>(
                normal[k][w], __fmul_rn(y[k][w], weight[w]), of_row);
        line.store(line.request.out, out, at);
    }
};
// What was kept of a row.
__device__ Known kept(const Line& line) {
    const Request& request = line.request;
    if (line.index >= request.rows) return {};
    return {request.means == nullptr ? 0 : request.means[line.index],
            request.scales[line.index], 0, 0};
}
template <class Team>
__device__ void means_of(Known& of_row, const Line& line, Team& team,
                         const float (&of_g)[2], const float (&of_gx)[2]) {
    float count = static_cast<float>(line.request.cols);
    of_row.of_gx = __fdiv_rn(team.sum(of_gx[0] + of_gx[1]), count);
    if (line.request.is_centred())
        of_row.of_g = __fdiv_rn(team.sum(of_g[0] + of_g[1]), count);
}
// What a thread has for its columns, over all rows that come to it.
template <unsigned int V> struct Shares {
    float weights[V][EIGHT] = {}, biases[V][EIGHT] = {};
    template <unsigned int N>
    __device__ void add(const Back<N>& back, unsigned int from,
                        unsigned int k) {
        for (unsigned int w = 0; w < EIGHT; w++) {
            float y = back.y[from][w];
            weights[k][w] = fmaf(y, back.normal[from][w], weights[k][w]);
            biases[k][w] += y;
        }
    }
    // Into the rows of sums of team number `team`.
    __device__ void put(const Line& line, unsigned int team, unsigned int at,
                        unsigned int step) const {
        const Request& request = line.request;
        if (request.sums == nullptr) return;
        unsigned long long row = 2ull * team * request.cols;
        for (unsigned int k = 0; k < V; k++) {
            unsigned int here = at + k * step, left = line.left(here);
            store(request.sums, AS_F32, row + here * EIGHT, weights[k], left);
            store(request.sums, AS_F32, row + request.cols + here * EIGHT,
                  biases[k], left);
        }
    }
};
// Rows that a team holds, one after the other.
template <unsigned int V, class Team>
__device__ void back_held(const Request& request, Team& team,
                          unsigned long long row, unsigned long long group,
                          unsigned long long step, Shares<V>& shares) {
    float weight[V][EIGHT];
    for (unsigned int k = 0; k < V; k++)
        Line(request, 0).weights(weight[k], team.rank() + k * team.count);
#pragma unroll 1
    for (; row < request.rows; row += step) {
        Line line(request, row + group);
        Known of_row = kept(line);
        Back<V> back;
        back.load(line, of_row, team.rank(), team.count);
        float of_g[2] = {}, of_gx[2] = {};
#pragma unroll
        for (unsigned int k = 0; k < V; k++)
            back.add(k, weight[k], of_g, of_gx);
        means_of(of_row, line, team, of_g, of_gx);
#pragma unroll
        for (unsigned int k = 0; k < V; k++) {
            back.write(line, k, weight[k], of_row,
                       team.rank() + k * team.count);
            shares.add(back, k, k);
        }
    }
}
// Groups of lanes: the warps of a block add up their columns in the end.
template <unsigned int BLOCK, unsigned int V>
__device__ void back_groups(const Request& request, Lanes team) {
    constexpr unsigned int WARPS = BLOCK / WARP, COLS = WARP * V * EIGHT;
    __shared__ float of_warps[WARPS][COLS];
    unsigned int groups = BLOCK / team.count, warp = threadIdx.x / WARP;
    Shares<V> shares;
    back_held(request, team,
              static_cast<unsigned long long>(blockIdx.x) * groups,
              threadIdx.x / team.count,
              static_cast<unsigned long long>(gridDim.x) * groups, shares);
    for (unsigned int kind = 0; kind < 2 && request.sums != nullptr; kind++) {
        for (unsigned int k = 0; k < V * EIGHT; k++) {
            float sum = kind == 0 ? shares.weights[k / EIGHT][k % EIGHT]
                                  : shares.biases[k / EIGHT][k % EIGHT];
            for (unsigned int offset = team.count; offset < WARP; offset *= 2)
                sum += __shfl_xor_sync(FULL, sum, offset);
            if (threadIdx.x % WARP < team.count) {
                unsigned int at = team.rank() + k / EIGHT * team.count;
                of_warps[warp][at * EIGHT + k % EIGHT] = sum;
            }
        }
        __syncthreads();
        for (unsigned int c = threadIdx.x; c < request.cols; c += BLOCK) {
            float sum = 0;
            for (unsigned int other = 0; other < WARPS; other++)
                sum += of_warps[other][c];
            static_cast<float*>(
                request.sums)[(2ull * blockIdx.x + kind) * request.cols + c] =
                sum;
        }
        __syncthreads();
    }
}
// Longer rows: a block goes through one twice, and other blocks find the sums
// of columns before, as this may write over what they read.
template <unsigned int V>
__device__ void back_stream(const Line& line, Threads team) {
    Known of_row = kept(line);
    float of_g[2] = {}, of_gx[2] = {}, weight[EIGHT];
    backwards<V>(line, team, [&](unsigned int at) {
        Back<V> back;
        back.load(line, of_row, at, team.count);
        for (unsigned int k = 0; k < V; k++) {
            line.weights(weight, at + k * team.count);
            back.add(k, weight, of_g, of_gx);
        }
    });
    means_of(of_row, line, team, of_g, of_gx);
#pragma unroll 1
    for (unsigned int at = team.rank(); at < line.eights();
         at += V * team.count) {
        Back<V> back;
        back.load(line, of_row, at, team.count);
#pragma unroll
        for (unsigned int k = 0; k < V; k++) {
            line.weights(weight, at + k * team.count);
            back.write(line, k, weight, of_row, at + k * team.count);
        }
    }
}
// A thread has eight columns of every row, or of one in `teams`.
template <unsigned int BLOCK>
__device__ void back_columns(const Request& request, unsigned int teams) {
    unsigned int at = blockIdx.x / teams * BLOCK + threadIdx.x,
                 mine = blockIdx.x % teams;
    Shares<1> shares;
#pragma unroll 2
    for (unsigned long long row = mine; row < request.rows; row += teams) {
        Line line(request, row);
        Back<1> back;
        back.load(line, kept(line), at, 0);
        shares.add(back, 0, 0);
    }
    shares.put(Line(request, 0), mine, at, 0);
}
// The gradients of weights and biases: the sums of all teams, a warp for 32
// columns and for one in SHARING of the teams. Every addition has its place:
// the same bits in every run.
template <unsigned int SHARING>
__device__ void back_gradients(const float* sums, unsigned int teams,
                               unsigned int cols, void* weights,
                               void* biases, unsigned int format) {
    __shared__ float shared[SHARING][WARP];
    unsigned int lane = threadIdx.x % WARP, share = threadIdx.x / WARP,
                 strips = (cols + WARP - 1) / WARP,
                 kind = blockIdx.x / strips,
                 c = blockIdx.x % strips * WARP + lane;
    float sum = 0;
    if (c < cols) {
        const float* from = sums + (2ull * share + kind) * cols + c;
#pragma unroll 4
        for (unsigned int team = share; team < teams; team += SHARING)
            sum += *from, from += 2ull * SHARING * cols;
    }
    shared[share][lane] = sum;
    __syncthreads();
    void* to = kind == 0 ? weights : biases;
    if (share > 0 || c >= cols || to == nullptr) return;
    for (unsigned int other = 1; other < SHARING; other++)
        sum += shared[other][lane];
    if (format == AS_F32) static_cast<float*>(to)[c] = sum;
    else if (format == AS_F16) narrow(sum, static_cast<f16*>(to)[c]);
    else narrow(sum, static_cast<bf16*>(to)[c]);
}

#ifndef WANTED_ALONE
#define REQUEST \
    const void *in, const void *other, void *out, void *sums, float *means, \
    float *scales, float *steps, const void *weights, const void *biases, \
    unsigned long long rows, unsigned int cols, unsigned long long pitch, \
    float epsilon, unsigned int formats
#define REQUESTED \
    Request request = {in, other, out, sums, means, scales, steps, weights, \
                       biases, rows, cols, pitch, epsilon, formats};
#define THREADS \
    __shared__ unsigned int buffers[2][WARP]; \
    Threads team = {buffers, blockDim.x, 0};
// A group of lanes a row, a block a row, and a block a row that it does not
// hold.
KERNEL(256) norm_groups(REQUEST, unsigned int lanes) {
    REQUESTED unsigned long long first =
        static_cast<unsigned long long>(blockIdx.x) * (256 / lanes);
    forward_held<2>(Line(request, first + threadIdx.x / lanes),
                    Lanes{lanes});
}
KERNEL(1024) norm_block(REQUEST) {
    REQUESTED THREADS forward_held<2>(Line(request, blockIdx.x), team);
}
KERNEL(512) norm_stream(REQUEST) {
    REQUESTED THREADS forward_stream<2>(Line(request, blockIdx.x), team);
}
KERNEL(256) norm_back_groups(REQUEST, unsigned int lanes) {
    REQUESTED back_groups<256, 2>(request, Lanes{lanes});
}
KERNEL(512) norm_back_block(REQUEST) {
    REQUESTED THREADS Shares<2> shares;
    back_held(request, team, blockIdx.x, 0, gridDim.x, shares);
    shares.put(Line(request, 0), blockIdx.x, threadIdx.x, blockDim.x);
}
KERNEL(512) norm_back_stream(REQUEST) {
    REQUESTED THREADS back_stream<2>(Line(request, blockIdx.x), team);
}
KERNEL(256) norm_back_columns(REQUEST, unsigned int teams) {
    REQUESTED back_columns<256>(request, teams);
}
KERNEL(256)
norm_back_gradients(const float* sums, unsigned int teams, unsigned int cols,
                    void* weights, void* biases, unsigned int format) {
    back_gradients<8>(sums, teams, cols, weights, biases, format);
}
#endif
