// Chapter 11: softmax, and what else is made of a row's maximum and its sum
// of exponentials.
//
// Idea.   Maximum and sum are one value, a pair that merges as any monoid
//         does: a row is read once where its lanes hold it, twice where it is
//         too long for that, and never three times.
// Limit.  Bandwidth: a row is read, and a row is written.
// Worked. A row of 4,096 floats. Three passes read it three times and write
//         it, 64 KB; a block that holds it reads it once, 32 KB in all.
// Target. compute_90, and compute_80 without clusters.

#if __CUDA_ARCH__ >= 900
#include <cooperative_groups.h>
#endif
#include "elements.cuh"

constexpr unsigned int WARP = 32;
constexpr unsigned int FULL = 0xffffffff; // all lanes of a warp
__device__ float infinite() { return __uint_as_float(0x7f800000); }

// ANCHOR: exponential
// One NaN makes the maximum a NaN.
__device__ float larger(float a, float b) {
    float best;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(best) : "f"(a), "f"(b));
    return best;
}
// The same for the two elements in a word.
__device__ unsigned int larger(bf16, unsigned int a, unsigned int b) {
    unsigned int best;
    asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(best) : "r"(a), "r"(b));
    return best;
}
__device__ unsigned int larger(f16, unsigned int a, unsigned int b) {
    unsigned int best;
    asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(best) : "r"(a), "r"(b));
    return best;
}
// e^x as 2^(x / ln 2), which is an instruction. From -87.3 to 0 it is off by
// 2.1 units of 2^-24 at most, and 1.2 for each unit of x; below, it is 0.
__device__ float exponential(float x) {
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;"
        : "=f"(power)
        : "f"(__fmul_rn(x, 1.44269502f)));
    return power;
}
// ln x, rounded alike on every device, for what sums of exponentials are: 0,
// 1 and above, infinite or NaN.
__device__ float logarithm(float x) {
    // Exponent of the power of two nearest to x.
    int exponent = (__float_as_int(x) - 0x3f3504f3) >> 23;
    float f =
        __fsub_rn(__int_as_float(__float_as_int(x) - (exponent << 23)), 1.0f);
    float s = __fdiv_rn(f, __fadd_rn(2.0f, f)), z = __fmul_rn(s, s);
    float p = fmaf(z, fmaf(z, fmaf(z, 0.22222f, 0.285714298f), 0.400000006f),
                   0.666666687f);
    float rest = fmaf(-s, fmaf(-z, p, f), f);
    float n = static_cast<float>(exponent);
    float result = fmaf(n, 0.693145752f, fmaf(n, 1.42860677e-6f, rest));
    return x == 0 ? -infinite() : x < infinite() ? result : x;
}
// ANCHOR_END: exponential

// ANCHOR: pair
// The largest element and the sum of e^(x - max) over all of them: what two
// parts of a row know, the whole row knows. Eight bytes, so that they are
// written and read in one go.
struct __align__(8) Pair { float max, sum; };

// What is subtracted before an exponential: the maximum, or 0 where every
// element is -inf, whose e^(x - max) would be a NaN.
__device__ float base_of(float max) {
    return max == -infinite() ? 0.0f : max;
}

// ANCHOR: merge
__device__ Pair merge(Pair a, Pair b) {
    float max = larger(a.max, b.max), base = base_of(max);
    float rescaled = __fmul_rn(b.sum, exponential(b.max - base));
    return {max, fmaf(a.sum, exponential(a.max - base), rescaled)};
}
// ANCHOR_END: merge
// ANCHOR_END: pair

// ANCHOR: operations
// What the kernels are told. Row r begins r * pitch elements after the first,
// in the input, the second input and the results.
template <class Op> struct Task {
    const typename Op::In* in;
    const typename Op::In* other; // where an operation has a second matrix
    typename Op::Out* out;
    unsigned long long rows;
    unsigned int cols;
    unsigned long long pitch;
    const void* labels; // of 32 or 64 bits
    unsigned int label_bits;
    const float* gradients; // of the losses: one for all rows, or one a row
    unsigned int one_a_row;
};
// What is known of a row when its results are written. `share` takes e^(x -
// base) to its share of the sum.
struct Known {
    float max, sum, share, log, gradient;
    unsigned int label;
};

constexpr unsigned int NO_LABEL = 0xffffffff;

// The operations on one matrix, of which a row's pair is known in the end.
template <typename T, typename OUT> struct OfPair {
    using In = T;
    using Out = OUT;
    static constexpr bool PAIRS = true, HAS_OTHER = false, HAS_LABEL = false,
                          EACH = true, LARGE = false;
    // An element that changes no pair.
    static __device__ float missing() { return -infinite(); }
    static __device__ float term(float, float, float sum) { return sum; }
    static __device__ float value(Known, float) { return 0; }
    static __device__ float each(float, float, float, unsigned int, Known) {
        return 0;
    }
};
template <typename T> struct Softmax : OfPair<T, T> {
    static __device__ float each(float, float, float e, unsigned int,
                                 Known row) {
        return __fmul_rn(e, row.share);
    }
};
template <typename T> struct LogSoftmax : OfPair<T, T> {
    static __device__ float each(float x, float, float, unsigned int,
                                 Known row) {
        return x - row.max - row.log;
    }
};
template <typename T> struct LogSumExp : OfPair<T, float> {
    static constexpr bool EACH = false; // one result a row
    static __device__ float value(Known row, float) {
        return row.max == infinite() ? row.max : row.max + row.log;
    }
};
// -log of the softmax at the row's label.
template <typename T> struct CrossEntropy : OfPair<T, float> {
    static constexpr bool EACH = false, HAS_LABEL = true;
    static __device__ float value(Known row, float at_label) {
        return row.max - at_label + row.log;
    }
};
template <typename T> struct CrossEntropyBackward : OfPair<T, T> {
    static constexpr bool HAS_LABEL = true;
    static __device__ float each(float, float, float e, unsigned int i,
                                 Known row) {
        return __fmul_rn(
            __fmul_rn(e, row.share) - (i == row.label ? 1.0f : 0.0f),
            row.gradient);
    }
};
// The operations on two matrices, what went forward has left and the gradient
// of it, of which a row's sum is known in the end.
template <typename T> struct OfSum : OfPair<T, T> {
    static constexpr bool PAIRS = false, HAS_OTHER = true;
    static __device__ float missing() { return 0; }
};
template <typename T> struct SoftmaxBackward : OfSum<T> {
    static __device__ float term(float y, float gradient, float sum) {
        return fmaf(y, gradient, sum);
    }
    static __device__ float each(float y, float gradient, float, unsigned int,
                                 Known row) {
        return __fmul_rn(y, gradient - row.sum);
    }
};
template <typename T> struct LogSoftmaxBackward : OfSum<T> {
    static __device__ float term(float, float gradient, float sum) {
        return sum + gradient;
    }
    static __device__ float each(float y, float gradient, float, unsigned int,
                                 Known row) {
        // The logarithm of a share is not above 0; of what is, e^y counts as
        // infinite from 88 on.
        return fmaf(y < 88.0f ? -exponential(y) : -y * infinite(), row.sum,
                    gradient);
    }
};
// On rows that are more than an L2 holds.
template <class Op> struct Large : Op { static constexpr bool LARGE = true; };
// ANCHOR_END: operations

// ---- lanes, warps and blocks bring together what they know ----

// ANCHOR: group
// Of each group of LANES lanes, a power of two, in all of its lanes. The
// whole warp takes part.
template <unsigned int LANES> __device__ float group_max(float x) {
    for (unsigned int offset = LANES / 2; offset > 0; offset /= 2)
        x = larger(x, __shfl_xor_sync(FULL, x, offset));
    return x;
}
template <unsigned int LANES> __device__ float group_sum(float x) {
    for (unsigned int offset = LANES / 2; offset > 0; offset /= 2)
        x += __shfl_xor_sync(FULL, x, offset);
    return x;
}
// The lanes' pairs as one: first the maximum, then each sum is rescaled once.
template <class Op, unsigned int LANES>
__device__ Pair group_pair(Pair mine) {
    if (!Op::PAIRS) return {0, group_sum<LANES>(mine.sum)};
    float max = group_max<LANES>(mine.max);
    return {max, group_sum<LANES>(__fmul_rn(
                     mine.sum, exponential(mine.max - base_of(max))))};
}
// The least power of two that is not below N.
template <unsigned int N> __device__ constexpr unsigned int power_of_two() {
    unsigned int power = 1;
    while (power < N) power *= 2;
    return power;
}
// The warps' pairs as one, in all threads of the block.
template <class Op, unsigned int BLOCK>
__device__ Pair block_pair(Pair of_warp, Pair* buffer) {
    constexpr unsigned int WARPS = BLOCK / WARP;
    if (threadIdx.x % WARP == 0) buffer[threadIdx.x / WARP] = of_warp;
    __syncthreads();
    constexpr unsigned int LANES = power_of_two<WARPS>();
    unsigned int other = threadIdx.x % LANES;
    return group_pair<Op, LANES>(other < WARPS ? buffer[other]
                                               : Pair{-infinite(), 0});
}
// ANCHOR_END: group

// ANCHOR: row
// A row, or a part of it, as its readers see it: elements before the first
// multiple of 16 bytes, a lane's each, and pieces.
template <class Op, unsigned int W> struct Row {
    using T = typename Op::In;
    const T* in;
    const T* other;
    typename Op::Out* out;
    unsigned int cols, head, from; // `from`: where it begins in its row
    // All three matrices: those that do not agree are read and written by
    // elements.
    bool aligned;
    __device__ Row(const Task<Op>& task, unsigned long long row,
                   unsigned int from, unsigned int count, unsigned int lanes)
        : from(from) {
        unsigned long long at = row * task.pitch + from;
        in = task.in + at;
        other = task.other + at;
        out = task.out + (Op::EACH ? at : row);
        cols = row < task.rows ? count : 0;
        auto past = [](const void* address) {
            return static_cast<unsigned int>(
                       reinterpret_cast<unsigned long long>(address)) %
                   sizeof(uint4);
        };
        aligned = W > 1 && (!Op::HAS_OTHER || past(other) == past(in)) &&
                  (!Op::EACH || past(out) == past(in));
        head = aligned
                   ? (0 - past(in) / static_cast<unsigned int>(sizeof(T))) %
                         PER_VECTOR<T>
                   : 0;
        if (head > lanes) aligned = false, head = 0;
        head = min(head, cols);
    }
    __device__ unsigned int begin(unsigned int at) const {
        return head + at * W;
    } // of piece number `at`
    __device__ unsigned int left(unsigned int at) const {
        return max(begin(at), cols) - begin(at);
    }
    __device__ unsigned int pieces() const {
        return (cols - head + W - 1) / W;
    }
    __device__ void get(Piece<W>& piece, const T* of, unsigned int at,
                        float missing = Op::missing()) const {
        if constexpr (Op::LARGE)
            ::load<W>(piece, of + begin(at), left(at), aligned, missing, 0,
                      AsLarge());
        else
            ::load<W>(piece, of + begin(at), left(at), aligned, missing);
    }
    __device__ void load(Piece<W>& x, Piece<W>& y, unsigned int at) const {
        get(x, in, at);
        if (Op::HAS_OTHER) get(y, other, at);
    }
    __device__ void widen(Piece<W> of_x, Piece<W> of_y, float (&x)[W],
                          float (&y)[W]) const {
        ::widen(T(), of_x, x);
        if (Op::HAS_OTHER) ::widen(T(), of_y, y);
    }
    __device__ void store(const float (&x)[W], unsigned int at) const {
        ::store<W>(out + begin(at), x, left(at), aligned);
    }
};
__device__ long long label_at(const void* labels, unsigned int bits,
                              unsigned long long row) {
    return bits == 64 ? static_cast<const long long*>(labels)[row]
                      : static_cast<const int*>(labels)[row];
}
// What belongs to a row beside its elements: its label, the gradient of its
// loss, and of an operation with one result the element at the label. Where
// lanes hold the row it is asked for before they wait for that.
struct Beside {
    unsigned int label;
    float gradient, at_label;
};
template <class Op>
__device__ Beside beside(const Task<Op>& task, unsigned long long row) {
    Beside all = {NO_LABEL, 0, __int_as_float(0x7fffffff)};
    if (!Op::HAS_LABEL || row >= task.rows) return all;
    long long label = label_at(task.labels, task.label_bits, row);
    if (Op::EACH) all.gradient = task.gradients[row * task.one_a_row];
    if (label >= 0 && label < task.cols) {
        all.label = label;
        if (!Op::EACH)
            all.at_label = widen(task.in[row * task.pitch + label]);
    }
    return all;
}
__device__ Known known(Pair all, float share, Beside row) {
    return {all.max, all.sum, share, logarithm(all.sum), row.gradient,
            row.label};
}
// The row's one result. A label that is none has no loss: not a number.
template <class Op>
__device__ void write_value(const Task<Op>& task, unsigned long long row,
                            Pair all, Beside beside) {
    narrow(Op::value(known(all, 0, beside), beside.at_label), task.out[row]);
}
// ANCHOR_END: row

// ANCHOR: three
// The form that anyone would write: a block a row, once for the maximum, once
// for the sum, once for the results.
template <class Op, unsigned int BLOCK>
__device__ void three_passes(Task<Op> task) {
    constexpr unsigned int WARPS = BLOCK / WARP;
    __shared__ float maxima[WARPS], sums[WARPS];
    unsigned long long row = blockIdx.x;
    unsigned int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const typename Op::In* in = task.in + row * task.pitch;
    float max = -infinite(), sum = 0;
    // ANCHOR: first_pass
    for (unsigned int c = threadIdx.x; c < task.cols; c += BLOCK)
        max = larger(max, widen(in[c]));
    max = group_max<WARP>(max);
    if (lane == 0) maxima[warp] = max;
    __syncthreads();
    max = group_max<WARPS>(maxima[lane % WARPS]);
    // ANCHOR_END: first_pass

    for (unsigned int c = threadIdx.x; c < task.cols; c += BLOCK)
        sum += exponential(widen(in[c]) - base_of(max));
    sum = group_sum<WARP>(sum);
    if (lane == 0) sums[warp] = sum;
    __syncthreads();
    sum = group_sum<WARPS>(sums[lane % WARPS]);

    Beside of_label = beside(task, row);
    if (!Op::EACH) {
        if (threadIdx.x == 0) write_value(task, row, {max, sum}, of_label);
        return;
    }
    Known of_row = known({max, sum}, __frcp_rn(sum), of_label);
    for (unsigned int c = threadIdx.x; c < task.cols; c += BLOCK) {
        float x = widen(in[c]);
        narrow(Op::each(x, 0, exponential(x - base_of(max)), c, of_row),
               task.out[row * task.pitch + c]);
    }
}
// ANCHOR_END: three

// ANCHOR: stream
// What a thread knows so far: with every few elements more its sum is
// rescaled once.
template <class Op> struct Running {
    Pair pair = {-infinite(), 0};
    template <unsigned int N>
    __device__ void take(const float (&x)[N], const float (&y)[N]) {
        float sums[4] = {};
        if constexpr (Op::PAIRS) {
            // ANCHOR: rescale
            float max = pair.max;
            for (unsigned int k = 0; k < N; k++) max = larger(max, x[k]);
            float base = base_of(max);
            for (unsigned int k = 0; k < N; k++)
                sums[k % 4] += exponential(x[k] - base);
            pair = {max, fmaf(pair.sum, exponential(pair.max - base),
                              (sums[0] + sums[1]) + (sums[2] + sums[3]))};
            // ANCHOR_END: rescale
        } else {
            for (unsigned int k = 0; k < N; k++)
                sums[k % 4] = Op::term(x[k], y[k], sums[k % 4]);
            pair.sum += (sums[0] + sums[1]) + (sums[2] + sums[3]);
        }
    }
};
// What a block finds of a row, or of a part of one, in one pass, LOADS pieces
// of a thread on their way at once.
template <class Op, unsigned int BLOCK, unsigned int LOADS, unsigned int W>
__device__ Pair pair_of(const Row<Op, W>& row, Pair* buffer) {
    Running<Op> running;
    if (threadIdx.x < row.head) {
        float x[1] = {widen(row.in[threadIdx.x])}, y[1] = {};
        if (Op::HAS_OTHER) y[0] = widen(row.other[threadIdx.x]);
        running.take(x, y);
    }
#pragma unroll 1
    for (unsigned int at = threadIdx.x; at < row.pieces();
         at += BLOCK * LOADS) {
        Piece<W> pieces[LOADS], others[LOADS];
        float x[LOADS][W], y[LOADS][W];
        for (unsigned int k = 0; k < LOADS; k++)
            row.load(pieces[k], others[k], at + k * BLOCK);
        for (unsigned int k = 0; k < LOADS; k++)
            row.widen(pieces[k], others[k], x[k], y[k]);
        running.take(reinterpret_cast<float (&)[LOADS * W]>(x),
                     reinterpret_cast<float (&)[LOADS * W]>(y));
    }
    return block_pair<Op, BLOCK>(group_pair<Op, WARP>(running.pair), buffer);
}
// The second pass. From the end on: what was read last is the likeliest to be
// in a cache still.
template <class Op, unsigned int BLOCK, unsigned int LOADS, unsigned int W>
__device__ void write_all(const Row<Op, W>& row, Known of_row) {
    float base = base_of(of_row.max);
    auto result = [&](float x, float y, unsigned int i) {
        return Op::each(x, y, Op::PAIRS ? exponential(x - base) : 0,
                        row.from + i, of_row);
    };
    constexpr unsigned int STEP = BLOCK * LOADS;
#pragma unroll 1
    for (unsigned int round = (row.pieces() + STEP - 1) / STEP;
         round-- > 0;) {
        unsigned int at = round * STEP + threadIdx.x;
        Piece<W> pieces[LOADS], others[LOADS];
        for (unsigned int k = 0; k < LOADS; k++)
            row.load(pieces[k], others[k], at + k * BLOCK);
        for (unsigned int k = 0; k < LOADS; k++) {
            float x[W], y[W];
            row.widen(pieces[k], others[k], x, y);
            for (unsigned int w = 0; w < W; w++)
                x[w] = result(x[w], y[w], row.begin(at + k * BLOCK) + w);
            row.store(x, at + k * BLOCK);
        }
    }
    if (threadIdx.x < row.head) {
        float y = Op::HAS_OTHER ? widen(row.other[threadIdx.x]) : 0;
        narrow(result(widen(row.in[threadIdx.x]), y, threadIdx.x),
               row.out[threadIdx.x]);
    }
}
// ANCHOR_END: stream

// ANCHOR: two
// A block a row, which reads it twice: for its pair, and for the results.
template <class Op, unsigned int BLOCK, unsigned int LOADS>
__device__ void two_passes(Task<Op> task) {
    __shared__ Pair buffer[BLOCK / WARP];
    Row<Op, PER_VECTOR<typename Op::In>> row(task, blockIdx.x, 0, task.cols,
                                             BLOCK);
    Pair all = pair_of<Op, BLOCK, LOADS>(row, buffer);
    Beside of_row = beside(task, blockIdx.x);
    if (Op::EACH)
        write_all<Op, BLOCK, LOADS>(
            row, known(all, __frcp_rn(all.sum), of_row));
    else if (threadIdx.x == 0) write_value(task, blockIdx.x, all, of_row);
}
// ANCHOR_END: two

// ANCHOR: held
// The elements of a row that a lane holds: V pieces, STEP after STEP, and of
// a row that does not begin at a multiple of 16 bytes one more.
template <class Op, unsigned int V, unsigned int W> struct Held {
    Piece<W> pieces[V], others[V];
    float x[V][W], y[V][W], first, first_y;
    bool has_first;
    __device__ void begin(const Row<Op, W>& row, unsigned int at) {
        has_first = W > 1 && at < row.head;
    }
    __device__ void load_first(const Row<Op, W>& row, unsigned int at) {
        if (!has_first) return;
        first = ::widen(row.in[at]);
        if (Op::HAS_OTHER) first_y = ::widen(row.other[at]);
    }
    __device__ void load(const Row<Op, W>& row, unsigned int at,
                         unsigned int step) {
        begin(row, at);
        for (unsigned int k = 0; k < V; k++)
            row.load(pieces[k], others[k], at + k * step);
        load_first(row, at);
    }
    __device__ void widen(const Row<Op, W>& row) {
        for (unsigned int k = 0; k < V; k++)
            row.widen(pieces[k], others[k], x[k], y[k]);
    }
    // The largest element of the pieces; of bf16 and f16 two at a time, as
    // they lie in a word.
    __device__ float largest() const {
        float max = -infinite();
        if constexpr (W == PER_VECTOR<bf16>) {
            typename Op::In type;
            unsigned int both = pieces[0].words[0];
            for (unsigned int k = 1; k < V * 4; k++)
                both = larger(type, both, pieces[k / 4].words[k % 4]);
            float two[2];
            ::widen(type, both, two);
            max = larger(two[0], two[1]);
        } else {
            for (unsigned int k = 0; k < V * W; k++)
                max = larger(max, x[k / W][k % W]);
        }
        return max;
    }
    // The pair of a group of lanes: first its maximum, and then no sum has to
    // be rescaled. Of each element e^(x - max) is kept.
    template <unsigned int LANES>
    __device__ Pair pair(float (&e)[V][W], float& of_first) {
        float max = largest(), sums[4] = {};
        if (has_first) max = larger(max, first);
        // ANCHOR: held_pair
        max = group_max<LANES>(max);
        float base = base_of(max);
        for (unsigned int k = 0; k < V * W; k++) {
            e[k / W][k % W] = exponential(x[k / W][k % W] - base);
            sums[k % 4] += e[k / W][k % W];
        }
        // ANCHOR_END: held_pair
        if (has_first) sums[0] += of_first = exponential(first - base);
        return {max,
                group_sum<LANES>((sums[0] + sums[1]) + (sums[2] + sums[3]))};
    }
    template <unsigned int LANES> __device__ Pair sum() {
        float sums[4] = {};
        for (unsigned int k = 0; k < V * W; k++)
            sums[k % 4] =
                Op::term(x[k / W][k % W], y[k / W][k % W], sums[k % 4]);
        if (has_first) sums[0] = Op::term(first, first_y, sums[0]);
        return {0,
                group_sum<LANES>((sums[0] + sums[1]) + (sums[2] + sums[3]))};
    }
    __device__ void write(const Row<Op, W>& row, unsigned int at,
                          unsigned int step, const float (&e)[V][W],
                          float of_first, Known of_row) {
        for (unsigned int k = 0; k < V; k++) {
            float out[W];
            for (unsigned int w = 0; w < W; w++) {
                out[w] = Op::each(x[k][w], y[k][w], e[k][w],
                                  row.begin(at + k * step) + w, of_row);
            }
            row.store(out, at + k * step);
        }
        if (has_first)
            narrow(Op::each(first, first_y, of_first, at, of_row),
                   row.out[at]);
    }
};
// ANCHOR_END: held

// ANCHOR: groups
// Groups of LANES lanes, a row each, of ROWS rows at once. A row is held by
// its lanes.
template <class Op, unsigned int BLOCK, unsigned int LANES, unsigned int ROWS,
          unsigned int V, unsigned int W>
__device__ void groups(Task<Op> task) {
    constexpr unsigned int GROUPS = BLOCK / LANES;
    unsigned int lane = threadIdx.x % LANES;
    unsigned long long first =
        static_cast<unsigned long long>(blockIdx.x) * (GROUPS * ROWS) +
        threadIdx.x / LANES;
    Held<Op, V, W> held[ROWS];
    auto row = [&](unsigned int r) {
        return Row<Op, W>(task, first + r * GROUPS, 0, task.cols, LANES);
    };
    Beside of_row[ROWS];
    for (unsigned int r = 0; r < ROWS; r++) {
        held[r].load(row(r), lane, LANES);
        of_row[r] = beside(task, first + r * GROUPS);
    }
    for (unsigned int r = 0; r < ROWS; r++) {
        float e[V][W], of_first;
        unsigned long long at = first + r * GROUPS;
        held[r].widen(row(r));
        Pair all = Op::PAIRS ? held[r].template pair<LANES>(e, of_first)
                             : held[r].template sum<LANES>();
        if (Op::EACH)
            held[r].write(row(r), lane, LANES, e, of_first,
                          known(all, __frcp_rn(all.sum), of_row[r]));
        else if (lane == 0 && at < task.rows)
            write_value(task, at, all, of_row[r]);
    }
}
// ANCHOR_END: groups

// ANCHOR: block
// CLUSTER blocks a row, one or several, which hold it together. The warps'
// pairs meet in shared memory, and those of the blocks in that of each of
// them.
template <class Op, unsigned int BLOCK, unsigned int V, unsigned int CLUSTER>
__device__ void block(Task<Op> task) {
    constexpr unsigned int W = PER_VECTOR<typename Op::In>,
                           STEP = CLUSTER * BLOCK;
    __shared__ Pair of_warps[BLOCK / WARP];
    unsigned long long at = blockIdx.x / CLUSTER;
    unsigned int rank = blockIdx.x % CLUSTER,
                 first = rank * BLOCK + threadIdx.x;
    Row<Op, W> row(task, at, 0, task.cols, STEP);
    Held<Op, V, W> held;
    float e[V][W], of_first;
    held.load(row, first, STEP);
    // Where a thread holds many elements, nothing is kept beside them.
    constexpr bool EARLY = V * W <= 16;
    Beside of_row = {};
    if (EARLY) of_row = beside(task, at);
#if __CUDA_ARCH__ >= 900
    auto blocks = cooperative_groups::this_cluster();
    // No block writes into one that has not begun.
    if (CLUSTER > 1) blocks.barrier_arrive();
#endif
    held.widen(row);
    Pair of_warp = Op::PAIRS ? held.template pair<WARP>(e, of_first)
                             : held.template sum<WARP>();
    Pair all = block_pair<Op, BLOCK>(of_warp, of_warps);
#if __CUDA_ARCH__ >= 900
    if (CLUSTER > 1) {
        // ANCHOR: cluster_pair
        __shared__ Pair of_blocks[CLUSTER];
        blocks.barrier_wait();
        if (threadIdx.x < CLUSTER)
            *blocks.map_shared_rank(of_blocks + rank, threadIdx.x) = all;
        blocks.sync(); // none leaves before it has what the others write
        all = group_pair<Op, CLUSTER>(of_blocks[threadIdx.x % CLUSTER]);
        // ANCHOR_END: cluster_pair
    }
#endif
    if (!EARLY) of_row = beside(task, at);
    if (!Op::EACH) {
        if (first == 0) write_value(task, at, all, of_row);
        return;
    }
    float share =
        Op::PAIRS
            ? __fdiv_rn(exponential(of_warp.max - base_of(all.max)), all.sum)
            : 0;
    held.write(row, first, STEP, e, of_first, known(all, share, of_row));
}
// ANCHOR_END: block

// ANCHOR: stage
// A row in shared memory, where it takes no registers. A thread copies what
// it reads itself, so that no barrier is needed.
extern __shared__ uint4 stages[];
template <class Op, unsigned int V, unsigned int W, unsigned int BLOCK>
struct Stage {
    using T = typename Op::In;
    static constexpr unsigned int INPUTS = Op::HAS_OTHER ? 2 : 1;
    uint4 vectors[INPUTS][V][BLOCK];
    // Asks for all.
    __device__ void load(const Row<Op, W>& row, unsigned int at,
                         unsigned int step) {
        unsigned int own =
            shared_address<Op::LARGE>(&vectors[0][0][threadIdx.x]);
#pragma unroll
        for (unsigned int k = 0; k < INPUTS * V; k++) {
            unsigned int input = k % INPUTS, number = k / INPUTS,
                         piece = at + number * step, left = row.left(piece);
            const T* from =
                (input == 0 ? row.in : row.other) + row.begin(piece);
            if (row.aligned && left >= W) {
                copy_async<Op::LARGE>(
                    own + (input * V + number) * BLOCK * sizeof(uint4), from);
                continue;
            }
            Piece<W> all;
            ::load<W>(all, from, left, false, Op::missing());
            vectors[input][number][threadIdx.x] = {
                all.words[0], all.words[1], all.words[2], all.words[3]};
        }
    }
    // Returns when what a thread asked for has come.
    __device__ static void wait() {
        asm volatile("cp.async.wait_all;" ::: "memory");
    }
    __device__ Piece<W> piece(unsigned int input, unsigned int k) const {
        uint4 v = vectors[input][k][threadIdx.x];
        return {{v.x, v.y, v.z, v.w}};
    }
    __device__ void read(unsigned int k, float (&x)[W], float (&y)[W]) const {
        ::widen(T(), piece(0, k), x);
        if (INPUTS > 1) ::widen(T(), piece(INPUTS - 1, k), y);
    }
    __device__ float largest() const {
        float max = -infinite();
        if constexpr (W == PER_VECTOR<bf16>) {
            unsigned int both = vectors[0][0][threadIdx.x].x;
#pragma unroll
            for (unsigned int k = 0; k < V; k++) {
                for (unsigned int word : piece(0, k).words)
                    both = larger(T(), both, word);
            }
            float two[2];
            ::widen(T(), both, two);
            max = larger(two[0], two[1]);
        } else {
#pragma unroll
            for (unsigned int k = 0; k < V; k++) {
                float x[W], y[W];
                read(k, x, y);
                for (unsigned int w = 0; w < W; w++) max = larger(max, x[w]);
            }
        }
        return max;
    }
    // The pair of a warp, `first` and `first_y` among its elements if it has
    // them. Exponentials are not kept: they are made again in the end.
    __device__ Pair pair(bool has_first, float first, float first_y) const {
        float base = 0, max = 0, sums[4] = {};
        if (Op::PAIRS) {
            max = largest();
            if (has_first) max = larger(max, first);
            max = group_max<WARP>(max), base = base_of(max);
        }
        auto add = [&](float x, float y, float sum) {
            return Op::PAIRS ? sum + exponential(x - base)
                             : Op::term(x, y, sum);
        };
#pragma unroll 2
        for (unsigned int k = 0; k < V; k++) {
            float x[W], y[W];
            read(k, x, y);
            for (unsigned int w = 0; w < W; w++)
                sums[w % 4] = add(x[w], y[w], sums[w % 4]);
        }
        if (has_first) sums[0] = add(first, first_y, sums[0]);
        return {max,
                group_sum<WARP>((sums[0] + sums[1]) + (sums[2] + sums[3]))};
    }
};
// ANCHOR_END: stage

#if __CUDA_ARCH__ >= 900
// ANCHOR: mail
// The blocks of a cluster meet without a barrier of all. Each sends what it
// knows to all of them, by stores whose bytes a barrier object of the other
// block counts, and waits for its own object alone.
template <unsigned int CLUSTER> struct Mail {
    Pair values[CLUSTER];
    unsigned long long arrived;
    __device__ static unsigned int address(const void* shared) {
        return static_cast<unsigned int>(__cvta_generic_to_shared(shared));
    }
    __device__ void begin() {
        if (threadIdx.x == 0)
            asm volatile(
                "mbarrier.init.shared::cta.b64 [%0], 1;\n"
                "fence.mbarrier_init.release.cluster;\n"
                "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                    address(&arrived)),
                "r"(static_cast<unsigned int>(sizeof(values)))
                : "memory");
        cooperative_groups::this_cluster().barrier_arrive();
    }
    // The first lanes send, each to the block of its number, once all blocks
    // have begun.
    __device__ void send(Pair mine) {
        cooperative_groups::this_cluster().barrier_wait();
        if (threadIdx.x >= CLUSTER) return;
        unsigned int to, counted;
        asm("mapa.shared::cluster.u32 %0, %1, %2;"
            : "=r"(to)
            : "r"(address(&values[blockIdx.x % CLUSTER])), "r"(threadIdx.x));
        asm("mapa.shared::cluster.u32 %0, %1, %2;"
            : "=r"(counted)
            : "r"(address(&arrived)), "r"(threadIdx.x));
        asm volatile(
            "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes"
            ".v2.f32 [%0], {%1, %2}, [%3];" ::"r"(to),
            "f"(mine.max), "f"(mine.sum), "r"(counted)
            : "memory");
    }
    template <class Op> __device__ Pair receive() const {
        unsigned int done;
        do {
            asm volatile(
                "{\n"
                ".reg .pred done;\n"
                "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 "
                "done, [%1], 0;\n"
                "selp.u32 %0, 1, 0, done;\n"
                "}"
                : "=r"(done)
                : "r"(address(&arrived))
                : "memory");
        } while (!done);
        return group_pair<Op, CLUSTER>(values[threadIdx.x % CLUSTER]);
    }
};
// ANCHOR_END: mail
#endif

// ANCHOR: staged
// CLUSTER blocks a row, one or several, which hold it in shared memory.
template <class Op, unsigned int BLOCK, unsigned int V, unsigned int CLUSTER>
__device__ void staged(Task<Op> task) {
    constexpr unsigned int W = PER_VECTOR<typename Op::In>,
                           STEP = CLUSTER * BLOCK;
    __shared__ Pair of_warps[BLOCK / WARP];
    auto& stage = *reinterpret_cast<Stage<Op, V, W, BLOCK>*>(stages);
    unsigned long long at = blockIdx.x / CLUSTER;
    unsigned int first = blockIdx.x % CLUSTER * BLOCK + threadIdx.x;
    Row<Op, W> row(task, at, 0, task.cols, STEP);
    stage.load(row, first, STEP);
    Held<Op, 1, W> held; // the element before the first vector
    held.begin(row, first), held.load_first(row, first);
    Beside of_row = beside(task, at);
#if __CUDA_ARCH__ >= 900
    __shared__ Mail<CLUSTER> mail;
    if (CLUSTER > 1) mail.begin();
#endif
    stage.wait();
    Pair all = block_pair<Op, BLOCK>(
        stage.pair(held.has_first, held.first, held.first_y), of_warps);
#if __CUDA_ARCH__ >= 900
    if (CLUSTER > 1) mail.send(all), all = mail.template receive<Op>();
#endif
    if (!Op::EACH) {
        if (first == 0) write_value(task, at, all, of_row);
        return;
    }
    Known known = ::known(all, __frcp_rn(all.sum), of_row);
    auto result = [&](float x, float y, unsigned int i) {
        float e = Op::PAIRS ? exponential(x - base_of(all.max)) : 0;
        return Op::each(x, y, e, i, known);
    };
#pragma unroll 2
    for (unsigned int k = 0; k < V; k++) {
        float x[W], y[W];
        stage.read(k, x, y);
        for (unsigned int w = 0; w < W; w++)
            x[w] = result(x[w], y[w], row.begin(first + k * STEP) + w);
        row.store(x, first + k * STEP);
    }
    if (held.has_first)
        narrow(result(held.first, held.first_y, first), row.out[first]);
}
// ANCHOR_END: staged

// ANCHOR: parts
// Rows that are too long to be held: `count` blocks a row find the pair of a
// part each, and in a second launch, which merges them, they read their part
// once more.
template <class Op>
__device__ Row<Op, PER_VECTOR<typename Op::In>> part_of(const Task<Op>& task,
                                                        unsigned int count,
                                                        unsigned int length,
                                                        unsigned int block) {
    unsigned int from = block % count * length;
    return {task, block / count, from, min(length, task.cols - from), 256};
}
template <class Op, unsigned int BLOCK, unsigned int LOADS>
__device__ void parts(Task<Op> task, unsigned int count, unsigned int length,
                      Pair* pairs) {
    __shared__ Pair buffer[BLOCK / WARP];
    Pair of_part = pair_of<Op, BLOCK, LOADS>(
        part_of(task, count, length, blockIdx.x), buffer);
    if (threadIdx.x == 0) pairs[blockIdx.x] = of_part;
}
template <class Op, unsigned int BLOCK, unsigned int LOADS>
__device__ void whole(Task<Op> task, unsigned int count, unsigned int length,
                      const Pair* pairs) {
    __shared__ Pair buffer[BLOCK / WARP];
    // The last parts first: they are the likeliest to be in the L2 still.
    unsigned int block =
        Op::EACH ? gridDim.x - 1 - blockIdx.x : blockIdx.x * count;
    unsigned int row = block / count;
    Pair mine = {-infinite(), 0};
    for (unsigned int k = threadIdx.x; k < count; k += BLOCK) {
        Pair other = pairs[row * count + k];
        mine = Op::PAIRS ? merge(mine, other) : Pair{0, mine.sum + other.sum};
    }
    Pair all = block_pair<Op, BLOCK>(group_pair<Op, WARP>(mine), buffer);
    Beside of_row = beside(task, row);
    if (Op::EACH)
        write_all<Op, BLOCK, LOADS>(
            part_of(task, count, length, block),
            known(all, __frcp_rn(all.sum), of_row));
    else if (threadIdx.x == 0) write_value(task, row, all, of_row);
}
// ANCHOR_END: parts

// ANCHOR: entries
// C names, so that a host program finds each instance by the name that the
// reader sees: block_softmax_t256v8_f32.
#define TASK(OP) \
    const OP::In *in, const OP::In *other, OP::Out *out, \
    unsigned long long rows, unsigned int cols, unsigned long long pitch, \
    const void *labels, unsigned int label_bits, const float *gradients, \
    unsigned int one_a_row
#define GIVEN \
    {in, other, out, rows, cols, pitch, labels, label_bits, gradients, \
     one_a_row}
#define THREE(OP, NAME, TYPE) \
    extern "C" __global__ void __launch_bounds__(256) \
        three_passes_##NAME##_##TYPE(TASK(OP)) { \
        three_passes<OP, 256>(GIVEN); \
    }
#define TWO(OP, NAME, TYPE, THREADS, LOADS) \
    extern "C" __global__ void __launch_bounds__(THREADS) \
        two_passes_##NAME##_t##THREADS##u##LOADS##_##TYPE(TASK(OP)) { \
        two_passes<OP, THREADS, LOADS>(GIVEN); \
    }
#define GROUPS(OP, NAME, TYPE, LANES, ROWS, V, W) \
    extern "C" __global__ void __launch_bounds__(256) \
        groups_##NAME##_l##LANES##r##ROWS##v##V##w##W##_##TYPE(TASK(OP)) { \
        groups<OP, 256, LANES, ROWS, V, W>(GIVEN); \
    }
#define BLOCK(OP, NAME, TYPE, THREADS, V) \
    extern "C" __global__ void __launch_bounds__(THREADS) \
        block_##NAME##_t##THREADS##v##V##_##TYPE(TASK(OP)) { \
        block<OP, THREADS, V, 1>(GIVEN); \
    }
#define CLUSTER(OP, NAME, TYPE, BLOCKS, THREADS, V) \
    extern "C" __global__ void __launch_bounds__(THREADS) \
        cluster_##NAME##_c##BLOCKS##t##THREADS##v##V##_##TYPE(TASK(OP)) { \
        block<OP, THREADS, V, BLOCKS>(GIVEN); \
    }
#define STAGED(OP, NAME, TYPE, BLOCKS, THREADS, V) \
    extern "C" __global__ void __launch_bounds__( \
        THREADS, room_for(THREADS, V * (OP::HAS_OTHER ? 2 : 1))) \
        staged_##NAME##_c##BLOCKS##t##THREADS##v##V##_##TYPE(TASK(OP)) { \
        staged<OP, THREADS, V, BLOCKS>(GIVEN); \
    }
#define PARTS(OP, NAME, TYPE, THREADS, LOADS) \
    extern "C" __global__ void __launch_bounds__(THREADS) \
        parts_##NAME##_t##THREADS##u##LOADS##_##TYPE( \
            TASK(OP), unsigned int count, unsigned int length, \
            Pair* pairs) { \
        parts<OP, THREADS, LOADS>(GIVEN, count, length, pairs); \
    } \
    extern "C" __global__ void __launch_bounds__(THREADS) \
        whole_##NAME##_t##THREADS##u##LOADS##_##TYPE( \
            TASK(OP), unsigned int count, unsigned int length, \
            const Pair* pairs) { \
        whole<OP, THREADS, LOADS>(GIVEN, count, length, pairs); \
    }

// The shapes that every device can run. A GPU gets others that suit the
// input, compiled from this file when they are first needed.
#ifndef WANTED_ALONE
#if __CUDA_ARCH__ >= 900
#define CLUSTERS(OP, NAME, TYPE) CLUSTER(OP, NAME, TYPE, 8, 256, 2)
#else
#define CLUSTERS(OP, NAME, TYPE)
#endif
#define SHAPES(OP, NAME, TYPE, PER) \
    TWO(OP, NAME, TYPE, 256, 2) \
    GROUPS(OP, NAME, TYPE, 8, 1, 2, PER) \
    GROUPS(OP, NAME, TYPE, 32, 1, 2, PER) \
    BLOCK(OP, NAME, TYPE, 64, 2) \
    BLOCK(OP, NAME, TYPE, 256, 2) \
    BLOCK(OP, NAME, TYPE, 256, 4) \
    BLOCK(OP, NAME, TYPE, 512, 4) \
    CLUSTERS(OP, NAME, TYPE) \
    PARTS(OP, NAME, TYPE, 256, 2)
#define PAIRS(OP, NAME, TYPE, PER) \
    THREE(OP, NAME, TYPE) SHAPES(OP, NAME, TYPE, PER)
#define OPERATIONS(T, TYPE, PER) \
    PAIRS(Softmax<T>, softmax, TYPE, PER) \
    PAIRS(LogSoftmax<T>, log_softmax, TYPE, PER) \
    PAIRS(LogSumExp<T>, logsumexp, TYPE, PER) \
    PAIRS(CrossEntropy<T>, cross_entropy, TYPE, PER) \
    PAIRS(CrossEntropyBackward<T>, cross_entropy_backward, TYPE, PER) \
    SHAPES(SoftmaxBackward<T>, softmax_backward, TYPE, PER) \
    SHAPES(LogSoftmaxBackward<T>, log_softmax_backward, TYPE, PER)
OPERATIONS(float, f32, 4)
OPERATIONS(bf16, bf16, 8)
OPERATIONS(f16, f16, 8)
#if __CUDA_ARCH__ >= 900
#define STAGES(OP, NAME, TYPE) STAGED(OP, NAME, TYPE, 2, 64, 2)
STAGES(Softmax<float>, softmax, f32)
STAGES(LogSoftmax<bf16>, log_softmax, bf16)
STAGES(LogSumExp<bf16>, logsumexp, bf16)
STAGES(CrossEntropyBackward<float>, cross_entropy_backward, f32)
STAGES(SoftmaxBackward<bf16>, softmax_backward, bf16)
STAGES(LogSoftmaxBackward<f16>, log_softmax_backward, f16)
#endif
#endif
// ANCHOR_END: entries

// ---- no lesson: kernels that the library launches ----
#ifndef WANTED_ALONE
// Cross-entropy with labels that are ignored, smoothing and a saved
// logsumexp. What is null is not there.
struct Losses {
    long long ignored; // label of the rows that do not count
    float smoothing;
    float* logsumexp;   // one a row: written forward, read backward
    unsigned int* flag; // set to 1 by a label that is no column
    const unsigned long long* counted; // rows that share the gradient
};
template <typename T> struct Loss : OfPair<T, float> {
    static constexpr bool EACH = false;
};
// What is subtracted from a share is in `log` for the label, and in `sum`
// for the other columns.
template <typename T> struct LossGradient : OfPair<T, T> {
    static __device__ float each(float, float, float e, unsigned int i,
                                 Known row) {
        float rest = i == row.label ? -row.log : -row.sum;
        return __fmul_rn(fmaf(e, row.share, rest), row.gradient);
    }
};

// The row's label; of a row without one, what is written in its place: 0 if
// it is ignored, else NaN.
struct Target {
    unsigned int label;
    float instead;
};
template <class Op>
__device__ Target target_of(const Task<Op>& task, const Losses& losses,
                            long long label, bool is_first) {
    bool is_column = static_cast<unsigned long long>(label) < task.cols;
    bool counts = label != losses.ignored;
    if (losses.flag && is_first && counts && !is_column)
        atomicOr(losses.flag, 1);
    return {counts && is_column ? static_cast<unsigned int>(label) : NO_LABEL,
            counts && !is_column ? __int_as_float(0x7fffffff) : 0};
}
// What smoothing subtracts from each element before it adds them up, so that
// a row far from 0 loses nothing: the element at the label.
template <class Op>
__device__ float shift_of(const Task<Op>& task, const Losses& losses,
                          unsigned long long row, Target target) {
    if (losses.smoothing == 0 || target.label == NO_LABEL) return 0;
    float x = widen(task.in[row * task.pitch + target.label]);
    return fabsf(x) < infinite() ? x : 0;
}
template <class Op>
__device__ void write_loss(const Task<Op>& task, const Losses& losses,
                           unsigned long long row, Target target, Pair all,
                           float shift, float sum) {
    float loss = target.instead, logsumexp = target.instead;
    if (target.label != NO_LABEL) {
        float log = logarithm(all.sum), epsilon = losses.smoothing;
        logsumexp = all.max == infinite() ? all.max : all.max + log;
        loss = all.max - widen(task.in[row * task.pitch + target.label]) + log;
        // The mean of the columns' losses.
        float mean =
            (all.max - shift) + log - __fdiv_rn(sum, float(task.cols));
        if (epsilon > 0)
            loss = fmaf(epsilon, mean, __fmul_rn(1 - epsilon, loss));
    }
    task.out[row] = loss;
    if (losses.logsumexp) losses.logsumexp[row] = logsumexp;
}
// What a row's gradients take beside its elements and its pair.
struct Given {
    long long label_of_64;
    int label_of_32; // widened later: to do it at once would be to wait
    float gradient;
    unsigned long long counted;
    template <class Op>
    __device__ Given(const Task<Op>& task, const Losses& losses,
                     unsigned long long row)
        : gradient(task.gradients[row * task.one_a_row]),
          counted(losses.counted ? *losses.counted : 0) {
        if (task.label_bits == 64)
            label_of_64 = static_cast<const long long*>(task.labels)[row];
        else
            label_of_32 = static_cast<const int*>(task.labels)[row];
    }
    template <class Op>
    __device__ long long label(const Task<Op>& task) const {
        return task.label_bits == 64 ? label_of_64 : label_of_32;
    }
};
__device__ float share_of(Pair all) {
    return __fdiv_rn(exponential(all.max - base_of(all.max)), all.sum);
}
template <class Op>
__device__ Known gradient_of(const Task<Op>& task, const Losses& losses,
                             Given given, Target target, float max,
                             float share) {
    float gradient = given.gradient, each = 0;
    if (losses.counted)
        gradient = __fdiv_rn(gradient, __ull2float_rn(given.counted));
    if (losses.smoothing > 0)
        each = __fdiv_rn(losses.smoothing, float(task.cols));
    float at_label = (1 - losses.smoothing) + each;
    return {max, each, share, at_label, gradient, target.label};
}
// The same for every element.
template <class Op, unsigned int W>
__device__ void fill(const Row<Op, W>& row, float value, unsigned int at,
                     unsigned int step) {
    if (at < row.head) narrow(value, row.out[at]);
    float x[W];
    for (unsigned int w = 0; w < W; w++) x[w] = value;
    for (; at < row.pieces(); at += step) row.store(x, at);
}
template <class Op, unsigned int V, unsigned int W>
__device__ float sum_of(const Held<Op, V, W>& held, const Row<Op, W>& row,
                        unsigned int at, unsigned int step, float shift) {
    float sum = held.has_first ? held.first - shift : 0;
    for (unsigned int k = 0; k < V * W; k++) {
        if (k % W < row.left(at + k / W * step))
            sum += held.x[k / W][k % W] - shift;
    }
    return sum;
}
template <class Op, unsigned int BLOCK>
__device__ float block_sum(float x) {
    __shared__ Pair buffer[BLOCK / WARP];
    using Sum = OfSum<typename Op::In>;
    return block_pair<Sum, BLOCK>({0, group_sum<WARP>(x)}, buffer).sum;
}

// What the threads that hold a row bring together, in all of them: so many
// lanes, a power of two up to the block of 256.
template <bool IS_MAX> __device__ float together(unsigned int lanes, float x) {
    __shared__ float of_warps[256 / WARP];
    auto both = [](float a, float b) { return IS_MAX ? larger(a, b) : a + b; };
#pragma unroll 1
    for (unsigned int offset = min(lanes, WARP) / 2; offset > 0; offset /= 2)
        x = both(x, __shfl_xor_sync(FULL, x, offset));
    if (lanes <= WARP) return x;
    __syncthreads(); // what it held before was read
    if (threadIdx.x % WARP == 0) of_warps[threadIdx.x / WARP] = x;
    __syncthreads();
    unsigned int warps = lanes / WARP, first = (threadIdx.x & -lanes) / WARP;
    x = of_warps[first];
#pragma unroll 1
    for (unsigned int k = 1; k < warps; k++) x = both(x, of_warps[first + k]);
    return x;
}
// The row of a thread, where `lanes` threads hold one.
__device__ unsigned long long row_of(unsigned int lanes) {
    return (blockIdx.x * 256ull + threadIdx.x) >> (31 - __clz(lanes));
}
// `lanes` threads hold a row.
template <class Op, unsigned int V>
__device__ void loss_held(Task<Op> task, Losses losses, unsigned int lanes) {
    constexpr unsigned int W = PER_VECTOR<typename Op::In>;
    unsigned int lane = threadIdx.x & (lanes - 1);
    unsigned long long at = row_of(lanes), near = min(at, task.rows - 1);
    Row<Op, W> row(task, at, 0, task.cols, lanes);
    Held<Op, V, W> held;
    held.load(row, lane, lanes);
    Target target =
        target_of(task, losses, label_at(task.labels, task.label_bits, near),
                  lane == 0 && at == near);
    held.widen(row);
    float max = held.largest(), e[V][W], of_first, sums[4] = {};
    if (held.has_first) max = larger(max, held.first);
    max = together<true>(lanes, max);
    for (unsigned int k = 0; k < V * W; k++) {
        e[k / W][k % W] = exponential(held.x[k / W][k % W] - base_of(max));
        sums[k % 4] += e[k / W][k % W];
    }
    if (held.has_first)
        sums[0] += of_first = exponential(held.first - base_of(max));
    Pair all = {max, together<false>(lanes, (sums[0] + sums[1]) +
                                                (sums[2] + sums[3]))};
    if constexpr (Op::EACH) {
        if (target.label == NO_LABEL)
            fill(row, target.instead, lane, lanes);
        else
            held.write(row, lane, lanes, e, of_first,
                       gradient_of(task, losses, {task, losses, near}, target,
                                   all.max, share_of(all)));
    } else {
        float shift = shift_of(task, losses, near, target), sum = 0;
        if (losses.smoothing > 0)
            sum = together<false>(lanes,
                                  sum_of(held, row, lane, lanes, shift));
        if (lane == 0 && at < task.rows)
            write_loss(task, losses, at, target, all, shift, sum);
    }
}
// One pass over a row, with the sum that smoothing needs.
template <class Op, unsigned int BLOCK, unsigned int LOADS, unsigned int W>
__device__ Pair pair_and_sum(const Row<Op, W>& row, Pair* buffer,
                             bool is_smooth, float shift, float& sum) {
    Running<Op> running;
    if (threadIdx.x < row.head) {
        float x[1] = {widen(row.in[threadIdx.x])};
        running.take(x, x);
        sum = x[0] - shift;
    }
#pragma unroll 1
    for (unsigned int at = threadIdx.x; at < row.pieces();
         at += BLOCK * LOADS) {
        Piece<W> pieces[LOADS];
        float x[LOADS][W], of_round = 0;
        for (unsigned int k = 0; k < LOADS; k++)
            row.load(pieces[k], pieces[k], at + k * BLOCK);
        for (unsigned int k = 0; k < LOADS; k++)
            row.widen(pieces[k], pieces[k], x[k], x[k]);
        auto& all = reinterpret_cast<float(&)[LOADS * W]>(x);
        running.take(all, all);
        if (!is_smooth) continue;
        for (unsigned int k = 0; k < LOADS * W; k++) {
            if (k % W < row.left(at + k / W * BLOCK))
                of_round += all[k] - shift;
        }
        sum += of_round;
    }
    if (is_smooth) sum = block_sum<Op, BLOCK>(sum);
    return block_pair<Op, BLOCK>(group_pair<Op, WARP>(running.pair), buffer);
}
// A block goes through a row: once for its loss, twice for its gradient. A
// row without a label is not read.
template <class Op, unsigned int BLOCK, unsigned int LOADS>
__device__ void loss_stream(Task<Op> task, Losses losses, unsigned int) {
    constexpr unsigned int W = PER_VECTOR<typename Op::In>;
    __shared__ Pair buffer[BLOCK / WARP];
    unsigned int at = blockIdx.x;
    Row<Op, W> row(task, at, 0, task.cols, BLOCK);
    Target target =
        target_of(task, losses, label_at(task.labels, task.label_bits, at),
                  threadIdx.x == 0);
    if constexpr (Op::EACH) {
        if (target.label == NO_LABEL)
            return fill(row, target.instead, threadIdx.x, BLOCK);
        Pair all = pair_of<Op, BLOCK, LOADS>(row, buffer);
        write_all<Op, BLOCK, LOADS>(
            row, gradient_of(task, losses, {task, losses, at}, target, all.max,
                             share_of(all)));
    } else {
        float shift = shift_of(task, losses, at, target), sum = 0;
        if (target.label == NO_LABEL) row.cols = row.head = 0;
        Pair all = pair_and_sum<Op, BLOCK, LOADS>(
            row, buffer, losses.smoothing > 0, shift, sum);
        if (threadIdx.x == 0)
            write_loss(task, losses, at, target, all, shift, sum);
    }
}
// Where its logsumexp is saved, nothing has to be found of a row, and what its
// gradients take is asked for at once. `lanes` threads share a row, of one
// block or of several; each has its next piece on its way while it makes
// gradients of one. PLAIN: rows are whole vectors at multiples of 16 bytes.
template <class Op, unsigned int W, bool PLAIN>
__device__ void loss_saved(const Task<Op>& task, const Losses& losses,
                           unsigned int lanes) {
    unsigned long long number = row_of(lanes);
    if (number >= task.rows) return;
    unsigned int lane = (blockIdx.x * 256 + threadIdx.x) & (lanes - 1);
    Given given(task, losses, number);
    float saved = losses.logsumexp[number];
    Row<Op, W> row(task, number, 0, task.cols, lanes);
    if (PLAIN) row.aligned = true, row.head = 0;
    auto left = [&](unsigned int at) { return PLAIN ? W : row.left(at); };
    Piece<W> piece;
    auto load = [&](unsigned int at) {
        if (at < row.pieces())
            ::load<W>(piece, row.in + row.begin(at), left(at), row.aligned);
    };
    load(lane);
    Target target = target_of(task, losses, given.label(task), lane == 0);
    if (target.label == NO_LABEL)
        return fill(row, target.instead, lane, lanes);
    saved += saved - saved; // NaN where it is infinite
    Known known = gradient_of(task, losses, given, target, saved, 1);
    auto gradient = [&](float x, unsigned int i) {
        return Op::each(x, 0, exponential(x - saved), i, known);
    };
#pragma unroll 1
    for (unsigned int at = lane; at < row.pieces(); at += lanes) {
        float x[W];
        widen(typename Op::In(), piece, x);
        load(at + lanes);
        for (unsigned int w = 0; w < W; w++)
            x[w] = gradient(x[w], row.begin(at) + w);
        store<W>(row.out + row.begin(at), x, left(at), row.aligned);
    }
    if (!PLAIN && lane < row.head)
        narrow(gradient(widen(row.in[lane]), lane), row.out[lane]);
}
// Rows that are not plain are taken by elements where there are threads for
// that.
template <class Op>
__device__ void loss_saved(Task<Op> task, Losses losses, unsigned int lanes) {
    constexpr unsigned int W = PER_VECTOR<typename Op::In>;
    unsigned long long addresses =
        reinterpret_cast<unsigned long long>(task.in) |
        reinterpret_cast<unsigned long long>(task.out);
    if (addresses % sizeof(uint4) == 0 && (task.pitch | task.cols) % W == 0)
        loss_saved<Op, W, true>(task, losses, lanes);
    else if (lanes >= task.cols)
        loss_saved<Op, 1, false>(task, losses, lanes);
    else
        loss_saved<Op, W, false>(task, losses, lanes);
}

// The sum of the losses and the rows that count. In doubles, so that the
// order of so many losses does not matter.
struct Total {
    double sum;
    unsigned long long count;
};
template <unsigned int LANES> __device__ Total group_total(Total x) {
    for (unsigned int offset = LANES / 2; offset > 0; offset /= 2) {
        x.sum += __shfl_xor_sync(FULL, x.sum, offset);
        x.count += __shfl_xor_sync(FULL, x.count, offset);
    }
    return x;
}
__device__ Total block_total(Total x) {
    __shared__ Total of_warps[8];
    x = group_total<WARP>(x);
    __syncthreads(); // what it held before was read
    if (threadIdx.x % WARP == 0) of_warps[threadIdx.x / WARP] = x;
    __syncthreads();
    return group_total<8>(of_warps[threadIdx.x % 8]);
}
// Each block leaves a total, and the last to end adds them up. The ticket is
// 0 before a launch and after it.
extern "C" __global__ void __launch_bounds__(256)
    loss_total(const void* labels, unsigned int label_bits, long long ignored,
               unsigned long long rows, const float* losses, Total* totals,
               unsigned int* ticket, float* out, unsigned long long* counted,
               unsigned int is_mean) {
    __shared__ bool is_last;
    Total mine = {};
    for (unsigned long long row = blockIdx.x * 256ull + threadIdx.x;
         row < rows; row += gridDim.x * 256ull) {
        if (losses) mine.sum += losses[row];
        mine.count += label_at(labels, label_bits, row) != ignored;
    }
    mine = block_total(mine);
    if (threadIdx.x == 0) {
        totals[blockIdx.x] = mine;
        __threadfence();
        is_last = atomicAdd(ticket, 1) == gridDim.x - 1;
        if (is_last) atomicExch(ticket, 0);
        __threadfence();
    }
    __syncthreads();
    if (!is_last) return;
    mine = {};
    for (unsigned int k = threadIdx.x; k < gridDim.x; k += 256) {
        mine.sum += totals[k].sum;
        mine.count += totals[k].count;
    }
    mine = block_total(mine);
    if (threadIdx.x > 0) return;
    if (out) *out = is_mean ? mine.sum / mine.count : mine.sum;
    if (counted) *counted = mine.count;
}

#define LOSS(OP, NAME, TYPE, THREADS, ...) \
    extern "C" __global__ void __launch_bounds__(THREADS) NAME##_##TYPE( \
        TASK(OP), long long ignored, float smoothing, float* logsumexp, \
        unsigned int* flag, const unsigned long long* counted, \
        unsigned int lanes) { \
        __VA_ARGS__(GIVEN, {ignored, smoothing, logsumexp, flag, counted}, \
                    lanes); \
    }
#define LOSSES(T, TYPE) \
    LOSS(Loss<T>, loss_held_v2, TYPE, 256, loss_held<Loss<T>, 2>) \
    LOSS(Loss<T>, loss_stream_t256u2, TYPE, 256, loss_stream<Loss<T>, 256, 2>) \
    LOSS(Loss<T>, loss_stream_t512u2, TYPE, 512, loss_stream<Loss<T>, 512, 2>) \
    LOSS(Loss<T>, loss_stream_t1024u2, TYPE, 1024, \
         loss_stream<Loss<T>, 1024, 2>) \
    LOSS(LossGradient<T>, loss_gradient_held_v2, TYPE, 256, \
         loss_held<LossGradient<T>, 2>) \
    LOSS(LossGradient<T>, loss_gradient_saved, TYPE, 256, \
         loss_saved<LossGradient<T>>) \
    LOSS(LossGradient<T>, loss_gradient_stream_t256, TYPE, 256, \
         loss_stream<LossGradient<T>, 256, 8 / PER_VECTOR<T>>)
LOSSES(float, f32)
LOSSES(bf16, bf16)
LOSSES(f16, f16)

// Softmax of scale * x + mask over the first columns of each row, those that
// are seen. What is null or 0 is not there.
struct Masks {
    const void* mask; // added, of the elements' type
    unsigned long long mask_pitch;
    const int* lengths;  // columns of each row
    unsigned int period; // rows of a causal matrix
    long long offset;    // its first row sees so many columns, and one more
    float scale;
    float* logsumexp; // one a row
    unsigned int is_log;
};
template <typename T> struct Masked : OfPair<T, T> {};
template <typename T> struct MaskedBackward : OfSum<T> {};

template <class Op, unsigned int W> struct Seen {
    using T = typename Op::In;
    Row<Op, W> all, row; // all columns, and those that are seen
    const T* mask;
    bool aligned; // the mask as the row
    float scale;
    bool is_log;
    __device__ Seen(const Task<Op>& task, const Masks& masks,
                    unsigned long long at, unsigned int lanes)
        : all(task, at, 0, task.cols, lanes), row(all), scale(masks.scale),
          is_log(masks.is_log) {
        long long seen = all.cols;
        if (masks.period > 0)
            seen = min(seen, static_cast<long long>(at % masks.period) +
                                 masks.offset + 1);
        if (masks.lengths && at < task.rows)
            seen = min(seen, static_cast<long long>(masks.lengths[at]));
        row.cols = static_cast<unsigned int>(max(seen, 0ll));
        auto address = static_cast<const T*>(masks.mask);
        mask = address ? address + at * masks.mask_pitch : nullptr;
        aligned = row.aligned &&
                  (reinterpret_cast<unsigned long long>(mask) -
                   reinterpret_cast<unsigned long long>(row.in)) %
                          sizeof(uint4) ==
                      0;
    }
    __device__ unsigned int pieces() const {
        return row.cols > row.head ? row.pieces() : 0;
    }
    __device__ void load(Piece<W>& x, Piece<W>& y, unsigned int at) const {
        row.load(x, y, at);
        if (!Op::HAS_OTHER && mask)
            ::load<W>(y, mask + row.begin(at), row.left(at), aligned, 0);
    }
    // What the exponentials are taken of.
    __device__ void view(Piece<W> of_x, Piece<W> of_mask, unsigned int at,
                         float (&x)[W]) const {
        float added[W] = {};
        row.widen(of_x, of_x, x, x);
        if (mask) row.widen(of_mask, of_mask, added, added);
        for (unsigned int w = 0; w < W; w++)
            x[w] = w < row.left(at) ? fmaf(x[w], scale, added[w])
                                    : -infinite();
    }
    __device__ float first(unsigned int at) const {
        if (at >= min(row.head, row.cols)) return -infinite();
        return fmaf(widen(row.in[at]), scale, mask ? widen(mask[at]) : 0);
    }
    __device__ float result(float x, float e, Known of_row) const {
        if (!is_log) return __fmul_rn(e, of_row.share);
        return of_row.max == -infinite() ? of_row.max
                                         : x - of_row.max - of_row.log;
    }
    // Backward: what is masked has a share of 0 or its logarithm, and takes
    // no part whatever its gradient is.
    __device__ bool is_out(float y) const {
        return y == (is_log ? -infinite() : 0.0f);
    }
    __device__ float term(float y, float gradient, float sum) const {
        float with = fmaf(is_log ? 1.0f : y, gradient, sum);
        return is_out(y) ? sum : with;
    }
    __device__ float slope(float y, float gradient, float sum) const {
        float power = y < 88.0f ? -exponential(y) : -y * infinite();
        float of_log = fmaf(power, sum, gradient);
        float of_share = __fmul_rn(y, gradient - sum);
        return is_out(y) ? 0 : __fmul_rn(is_log ? of_log : of_share, scale);
    }
};
// A row with nothing left has shares of 0.
__device__ Known masked_known(Pair all) {
    bool is_left = all.max != -infinite();
    return {all.max, all.sum, is_left ? __frcp_rn(all.sum) : 0,
            logarithm(all.sum)};
}
__device__ void save(const Masks& masks, unsigned long long row, Known known) {
    if (masks.logsumexp)
        masks.logsumexp[row] = known.max == infinite() ? known.max
                                                       : known.max + known.log;
}
template <class Op, unsigned int V>
__device__ void masked_held(Task<Op> task, Masks masks, unsigned int lanes) {
    constexpr unsigned int W = PER_VECTOR<typename Op::In>;
    unsigned int lane = threadIdx.x & (lanes - 1);
    unsigned long long at = row_of(lanes);
    Seen<Op, W> seen(task, masks, at, lanes);
    Piece<W> pieces[V], others[V];
    float x[V][W], e[V][W], sums[4] = {};
    for (unsigned int k = 0; k < V; k++)
        seen.load(pieces[k], others[k], lane + k * lanes);
    float first = seen.first(lane), max = first;
    for (unsigned int k = 0; k < V; k++)
        seen.view(pieces[k], others[k], lane + k * lanes, x[k]);
    for (unsigned int k = 0; k < V * W; k++)
        max = larger(max, x[k / W][k % W]);
    max = together<true>(lanes, max);
    float of_first = exponential(first - base_of(max));
    for (unsigned int k = 0; k < V * W; k++) {
        e[k / W][k % W] = exponential(x[k / W][k % W] - base_of(max));
        sums[k % 4] += e[k / W][k % W];
    }
    float sum = (sums[0] + sums[1]) + (sums[2] + sums[3]) + of_first;
    Known known = masked_known({max, together<false>(lanes, sum)});
    for (unsigned int k = 0; k < V; k++) {
        for (unsigned int w = 0; w < W; w++)
            x[k][w] = seen.result(x[k][w], e[k][w], known);
        seen.all.store(x[k], lane + k * lanes);
    }
    if (lane < seen.all.head)
        narrow(seen.result(first, of_first, known), seen.all.out[lane]);
    if (lane == 0 && at < task.rows) save(masks, at, known);
}
template <class Op, unsigned int LOADS>
__device__ void masked_stream(Task<Op> task, Masks masks, unsigned int) {
    constexpr unsigned int W = PER_VECTOR<typename Op::In>;
    __shared__ Pair buffer[256 / WARP];
    Seen<Op, W> seen(task, masks, blockIdx.x, 256);
    Piece<W> pieces[LOADS], others[LOADS];
    float x[LOADS][W], first[1] = {seen.first(threadIdx.x)};
    auto take = [&](unsigned int at) {
        for (unsigned int k = 0; k < LOADS; k++)
            seen.load(pieces[k], others[k], at + k * 256);
        for (unsigned int k = 0; k < LOADS; k++)
            seen.view(pieces[k], others[k], at + k * 256, x[k]);
    };
    Running<Op> running;
    running.take(first, first);
#pragma unroll 1
    for (unsigned int at = threadIdx.x; at < seen.pieces();
         at += 256 * LOADS) {
        take(at);
        auto& all = reinterpret_cast<float(&)[LOADS * W]>(x);
        running.take(all, all);
    }
    Known known = masked_known(
        block_pair<Op, 256>(group_pair<Op, WARP>(running.pair), buffer));
    float base = base_of(known.max);
#pragma unroll 1
    for (unsigned int round = (seen.all.pieces() + 256 * LOADS - 1) /
                              (256 * LOADS);
         round-- > 0;) {
        unsigned int at = round * 256 * LOADS + threadIdx.x;
        take(at);
        for (unsigned int k = 0; k < LOADS; k++) {
            for (unsigned int w = 0; w < W; w++)
                x[k][w] = seen.result(x[k][w], exponential(x[k][w] - base),
                                      known);
            seen.all.store(x[k], at + k * 256);
        }
    }
    if (threadIdx.x < seen.all.head)
        narrow(seen.result(first[0], exponential(first[0] - base), known),
               seen.all.out[threadIdx.x]);
    if (threadIdx.x == 0) save(masks, blockIdx.x, known);
}
// Backward: shares or their logarithms, and the gradients of them.
template <class Op, unsigned int V>
__device__ void masked_backward_held(Task<Op> task, Masks masks,
                                     unsigned int lanes) {
    constexpr unsigned int W = PER_VECTOR<typename Op::In>;
    unsigned int lane = threadIdx.x & (lanes - 1);
    Seen<Op, W> seen(task, masks, row_of(lanes), lanes);
    Held<Op, V, W> held;
    held.load(seen.row, lane, lanes);
    held.widen(seen.row);
    held.has_first = held.has_first && lane < seen.row.cols;
    float sums[4] = {};
    for (unsigned int k = 0; k < V * W; k++)
        sums[k % 4] = seen.term(held.x[k / W][k % W], held.y[k / W][k % W],
                                sums[k % 4]);
    if (held.has_first)
        sums[0] = seen.term(held.first, held.first_y, sums[0]);
    float sum = together<false>(lanes,
                                (sums[0] + sums[1]) + (sums[2] + sums[3]));
    for (unsigned int k = 0; k < V; k++) {
        unsigned int at = lane + k * lanes;
        float out[W];
        for (unsigned int w = 0; w < W; w++)
            out[w] = w < seen.row.left(at)
                         ? seen.slope(held.x[k][w], held.y[k][w], sum)
                         : 0;
        seen.all.store(out, at);
    }
    if (lane < seen.all.head)
        narrow(held.has_first ? seen.slope(held.first, held.first_y, sum) : 0,
               seen.all.out[lane]);
}
template <class Op, unsigned int LOADS>
__device__ void masked_backward_stream(Task<Op> task, Masks masks,
                                       unsigned int) {
    constexpr unsigned int W = PER_VECTOR<typename Op::In>;
    Seen<Op, W> seen(task, masks, blockIdx.x, 256);
    Piece<W> pieces[LOADS], others[LOADS];
    float x[LOADS][W], y[LOADS][W], first = 0, first_y = 0, sum = 0;
    auto take = [&](unsigned int at) {
        for (unsigned int k = 0; k < LOADS; k++)
            seen.load(pieces[k], others[k], at + k * 256);
        for (unsigned int k = 0; k < LOADS; k++)
            seen.row.widen(pieces[k], others[k], x[k], y[k]);
    };
    bool has_first = threadIdx.x < min(seen.row.head, seen.row.cols);
    if (has_first) {
        first = widen(seen.row.in[threadIdx.x]);
        first_y = widen(seen.row.other[threadIdx.x]);
        sum = seen.term(first, first_y, 0);
    }
#pragma unroll 1
    for (unsigned int at = threadIdx.x; at < seen.pieces();
         at += 256 * LOADS) {
        take(at);
        float of_round = 0;
        for (unsigned int k = 0; k < LOADS * W; k++)
            of_round = seen.term(x[k / W][k % W], y[k / W][k % W], of_round);
        sum += of_round;
    }
    sum = together<false>(256, sum);
#pragma unroll 1
    for (unsigned int round = (seen.all.pieces() + 256 * LOADS - 1) /
                              (256 * LOADS);
         round-- > 0;) {
        unsigned int at = round * 256 * LOADS + threadIdx.x;
        take(at);
        for (unsigned int k = 0; k < LOADS; k++) {
            for (unsigned int w = 0; w < W; w++)
                x[k][w] = w < seen.row.left(at + k * 256)
                              ? seen.slope(x[k][w], y[k][w], sum)
                              : 0;
            seen.all.store(x[k], at + k * 256);
        }
    }
    if (threadIdx.x < seen.all.head)
        narrow(has_first ? seen.slope(first, first_y, sum) : 0,
               seen.all.out[threadIdx.x]);
}

#define MASKED(OP, NAME, TYPE, SHAPE, NUMBER) \
    extern "C" __global__ void __launch_bounds__(256) NAME##_##TYPE( \
        const OP::In* in, const OP::In* other, OP::Out* out, \
        unsigned long long rows, unsigned int cols, unsigned long long pitch, \
        const void* mask, unsigned long long mask_pitch, const int* lengths, \
        unsigned int period, long long offset, float scale, float* logsumexp, \
        unsigned int is_log, unsigned int lanes) { \
        SHAPE<OP, NUMBER>({in, other, out, rows, cols, pitch}, \
                          {mask, mask_pitch, lengths, period, offset, scale, \
                           logsumexp, is_log}, \
                          lanes); \
    }
#define MASKS(T, TYPE) \
    MASKED(Masked<T>, masked_held_v2, TYPE, masked_held, 2) \
    MASKED(Masked<T>, masked_stream_t256, TYPE, masked_stream, \
           8 / PER_VECTOR<T>) \
    MASKED(MaskedBackward<T>, masked_backward_held_v2, TYPE, \
           masked_backward_held, 2) \
    MASKED(MaskedBackward<T>, masked_backward_stream_t256, TYPE, \
           masked_backward_stream, 8 / PER_VECTOR<T>)
MASKS(float, f32)
MASKS(bf16, bf16)
MASKS(f16, f16)
#endif
