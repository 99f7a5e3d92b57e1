// Chapter 10: many sums at once. Rows of any length, columns, and ragged rows.
//
// Idea.   The operators are chapter 9's. What is new is who takes what: a row gets as many lanes as it can feed with
//         16 bytes each, from four lanes to many blocks, and ragged rows are cut into shares of equal work.
// Limit.  Bandwidth, as before; for short arrays the launch; and a value a row has to go out.
// Worked. 65,536 rows of 64 floats. A thread a row: each load of a warp asks for 32 sectors and uses 4 bytes of each.
//         Eight lanes a row: each load asks for 16 sectors and uses all of their 512 bytes.

#include "elements.cuh"

constexpr unsigned int WARP = 32;
constexpr unsigned int FULL = 0xffffffff; // all lanes of a warp
constexpr unsigned int NOWHERE = 0xffffffff; // the index of no element

// ANCHOR: monoids
// Operators as in chapter 9, over ints, floats, f16, and bf16, which is the
// upper half of a float. Both of these are computed with as floats.
__device__ int widen(int x) { return x; }

template <typename T> struct SumOf { using type = float; };
// wraps by definition
template <> struct SumOf<int> { using type = unsigned int; };
template <typename T>
struct Sum {
    using In = T;
    using Value = typename SumOf<T>::type;
    using Out = Value;
    static __device__ Value identity() { return 0; }
    static __device__ Value lift(T x, unsigned int) { return widen(x); }
    static __device__ Value combine(Value a, Value b) { return a + b; }
    static __device__ Out finish(Value value, unsigned int) { return value; }
};
// A NaN is passed over, as by C's fmax: of NaNs alone the largest is a NaN.
template <typename T>
struct Max : Sum<T> {
    static __device__ float identity() { return __uint_as_float(0x7fffffff); }
    static __device__ float combine(float a, float b) { return fmaxf(a, b); }
    static __device__ float finish(float value, unsigned int n) {
        return n ? value : __uint_as_float(0xff800000);
    }
};
// One NaN makes the result a NaN, as in NumPy's maximum and torch's amax.
template <typename T>
struct Maximum : Sum<T> {
    static __device__ float identity() { return __uint_as_float(0xff800000); }
    static __device__ float combine(float a, float b) {
        float best;
        asm("max.NaN.f32 %0, %1, %2;" : "=f"(best) : "f"(a), "f"(b));
        return best;
    }
};
// The largest element as a key that grows with it, and the complement of its
// index in the row, so that the first of equal elements wins. A NaN has the
// largest key.
struct Found { unsigned int key, place; };
struct Place { unsigned int index; float value; };
template <typename T>
struct ArgMax {
    using In = T;
    using Value = Found;
    using Out = Place;
    static __device__ Value identity() { return {0, 0}; }
    static __device__ Value lift(T element, unsigned int i) {
        float x = widen(element) + 0.0f; // -0.0 becomes 0.0
        int bits = __float_as_int(x);
        return {x != x ? ~0u : bits ^ (bits >> 31 | 0x80000000), ~i};
    }
    static __device__ Value combine(Value a, Value b) {
        return a.key > b.key || (a.key == b.key && a.place > b.place) ? a : b;
    }
    static __device__ Out finish(Value all, unsigned int) {
        unsigned int bits = !~all.key ? 0x7fffffff :
            all.key >> 31 ? all.key ^ 0x80000000 : ~all.key;
        return {all.place ? ~all.place : NOWHERE, __uint_as_float(bits)};
    }
};
// Mean and variance by merging: how many elements, their mean, and the sum of
// squared distances from it.
struct Moments { float count, mean, squares; };
struct Spread { float mean, variance; };
template <typename T>
struct MeanVariance {
    using In = T;
    using Value = Moments;
    using Out = Spread;
    static __device__ Value identity() { return {0, 0, 0}; }
    static __device__ Value lift(T x, unsigned int) {
        return {1, widen(x), 0};
    }
    static __device__ Value combine(Value a, Value b) {
        float count = a.count + b.count;
        // Most merges are of equal counts, and need no division.
        float share = 0.5f;
        if (a.count != b.count) share = b.count / count;
        float apart = b.mean - a.mean;
        // Written out, so that no compiler chooses how it is rounded.
        return {count, fmaf(apart, share, a.mean),
                fmaf(apart * apart, a.count * share, a.squares + b.squares)};
    }
    // 0 / 0 where there are no elements.
    static __device__ Out finish(Value all, unsigned int n) {
        return {n ? all.mean : __uint_as_float(0x7fffffff), all.squares / n};
    }
};
// ANCHOR_END: monoids

// ANCHOR: vectors
template <typename T> struct Elements { T x[PER_VECTOR<T>]; };

// Combines N values, a power of two. Combining in pairs of pairs keeps the
// chain of waiting instructions short.
template <class Op, unsigned int N>
__device__ typename Op::Value in_pairs(typename Op::Value (&values)[N]) {
    for (unsigned int half = N / 2; half > 0; half /= 2) {
        for (unsigned int k = 0; k < half; k++)
            values[k] = Op::combine(values[k], values[k + half]);
    }
    return values[0];
}
// The value of a vector whose first element has the index i.
template <class Op>
__device__ typename Op::Value take(Op, uint4 v, unsigned int i) {
    using T = typename Op::In;
    Elements<T> elements;
    memcpy(&elements, &v, sizeof(v));
    typename Op::Value values[PER_VECTOR<T>];
    for (unsigned int k = 0; k < PER_VECTOR<T>; k++)
        values[k] = Op::lift(elements.x[k], i + k);
    return in_pairs<Op>(values);
}
// Mean and squares of COUNT vectors in two passes over their registers: one
// division for all of them, in the merge.
template <typename T, unsigned int COUNT>
__device__ Moments moments(const uint4 (&v)[COUNT]) {
    constexpr unsigned int PER = PER_VECTOR<T>, N = COUNT * PER;
    T elements[N];
    memcpy(elements, v, sizeof(v));
    float sums[PER] = {}, squares[PER] = {};
    for (unsigned int k = 0; k < N; k++) sums[k % PER] += widen(elements[k]);
    float mean = __fmul_rn(in_pairs<Sum<float>>(sums), 1.0f / N);
    for (unsigned int k = 0; k < N; k++) {
        float apart = widen(elements[k]) - mean;
        squares[k % PER] += apart * apart;
    }
    return {float(N), mean, in_pairs<Sum<float>>(squares)};
}
template <typename T>
__device__ Moments take(MeanVariance<T>, uint4 v, unsigned int) {
    uint4 one[] = {v};
    return moments<T>(one);
}

// What a lane holds on its way through a row: a value, or for ArgMax the
// vector that has the largest element. Only at the end does it look into it.
template <class Op> struct Running {
    typename Op::Value value = Op::identity();
    __device__ void join(uint4 v, unsigned int i) {
        value = Op::combine(value, take(Op(), v, i));
    }
    __device__ typename Op::Value settled() { return value; }
};
template <typename T> struct Running<ArgMax<T>> {
    float best = Maximum<T>::identity();
    uint4 vector;
    unsigned int first = NOWHERE;
    __device__ void join(uint4 v, unsigned int i) {
        float of_vector = take(Maximum<T>(), v, i);
        bool beats =
            of_vector > best || (of_vector != of_vector && best == best);
        if (!beats && first != NOWHERE) return;
        best = of_vector, vector = v, first = i;
    }
    __device__ Found settled() {
        return first == NOWHERE ? ArgMax<T>::identity()
                                : take(ArgMax<T>(), vector, first);
    }
};
// ANCHOR_END: vectors

// ---- lanes, warps and blocks bring their values together --------------------------------------------------

// ANCHOR: group
// A value of another lane, word by word.
template <typename V, class Shuffle>
__device__ V shuffled(V value, Shuffle shuffle) {
    unsigned int words[sizeof(V) / 4];
    memcpy(words, &value, sizeof(V));
    for (unsigned int& word : words) word = shuffle(word);
    memcpy(&value, words, sizeof(V));
    return value;
}
// Combines the values of each group of LANES lanes, a power of two; every
// lane of the group gets the result. The whole warp takes part.
template <class Op, unsigned int LANES>
__device__ typename Op::Value group_value(typename Op::Value value) {
    // ANCHOR: offsets
    for (unsigned int offset = LANES / 2; offset > 0; offset /= 2) {
        value = Op::combine(value, shuffled(value, [=](unsigned int w) {
            return __shfl_xor_sync(FULL, w, offset);
        }));
    }
    // ANCHOR_END: offsets
    return value;
}
// ANCHOR_END: group

// One value of a block, right in warp 0. Blocks that do this again and again alternate between two BUFFERs: warp 0 still
// reads the one when the others write the next.
template <class Op, unsigned int BLOCK> struct BlockBuffer { typename Op::Value of_threads[BLOCK]; };
template <class Op, unsigned int BLOCK>
__device__ typename Op::Value block_value(typename Op::Value value, BlockBuffer<Op, BLOCK>& buffer) {
    buffer.of_threads[threadIdx.x] = value;
    __syncthreads();
    if (threadIdx.x >= WARP) return value;
    for (unsigned int k = WARP; k < BLOCK; k += WARP) value = Op::combine(value, buffer.of_threads[threadIdx.x + k]);
    return group_value<Op, WARP>(value);
}

// ANCHOR: naive
// The two obvious forms. A row begins `pitch` elements after the row before.
template <class Op>
__device__ void thread_a_row(const typename Op::In* in, typename Op::Out* out,
                             unsigned long long rows, unsigned int cols,
                             unsigned long long pitch) {
    unsigned long long row =
        static_cast<unsigned long long>(blockIdx.x) * blockDim.x +
        threadIdx.x;
    // ANCHOR: thread
    if (row >= rows) return;
    auto value = Op::identity();
    for (unsigned int c = 0; c < cols; c++)
        value = Op::combine(value, Op::lift(in[row * pitch + c], c));
    out[row] = Op::finish(value, cols);
    // ANCHOR_END: thread
}
template <class Op, unsigned int BLOCK>
__device__ void block_a_row(const typename Op::In* in, typename Op::Out* out,
                            unsigned int cols, unsigned long long pitch) {
    __shared__ BlockBuffer<Op, BLOCK> buffer;
    // ANCHOR: block-row
    auto value = Op::identity();
    for (unsigned long long c = threadIdx.x; c < cols; c += BLOCK) {
        value = Op::combine(value, Op::lift(in[blockIdx.x * pitch + c], c));
    }
    value = block_value<Op, BLOCK>(value, buffer);
    if (threadIdx.x == 0) out[blockIdx.x] = Op::finish(value, cols);
    // ANCHOR_END: block-row
}
// ANCHOR_END: naive

// ANCHOR: row
// A row, or a part of one: elements before the first multiple of 16 bytes,
// vectors, and elements behind the last vector.
template <typename T> struct Row {
    const T* begin;
    unsigned int head, vectors, odd; // odd elements: head and tail
    __device__ Row(const T* begin, unsigned int cols, bool aligned)
        : begin(begin) {
        // ANCHOR: head
        unsigned int past = static_cast<unsigned int>(
            reinterpret_cast<unsigned long long>(begin) / sizeof(T));
        head = aligned ? 0 : min((0 - past) % PER_VECTOR<T>, cols);
        vectors = (cols - head) / PER_VECTOR<T>;
        odd = aligned ? 0 : cols - vectors * PER_VECTOR<T>;
        // ANCHOR_END: head
    }
    // The place of odd element number j.
    __device__ unsigned int place(unsigned int j) const {
        return j < head ? j : j + vectors * PER_VECTOR<T>;
    }
    __device__ uint4 vector(unsigned int at) const {
        return load_once(begin + head + at * PER_VECTOR<T>);
    }
    __device__ unsigned int index(unsigned int at) const {
        return head + at * PER_VECTOR<T>;
    }
};
// Copies a row, or many that lie one behind the other, into shared memory and
// returns the place of the first element there. Vectors stand at multiples of
// 16 bytes there too.
template <unsigned int BLOCK, typename T>
__device__ T* bring(Row<T> row, uint4* list) {
    constexpr unsigned int LOADS = 2;
    unsigned int before = (0 - row.head) % PER_VECTOR<T>;
    T* elements = reinterpret_cast<T*>(list) + before;
    if (threadIdx.x < row.odd)
        elements[row.place(threadIdx.x)] = row.begin[row.place(threadIdx.x)];
    for (unsigned int begin = threadIdx.x; begin < row.vectors;
         begin += BLOCK * LOADS) {
        uint4 v[LOADS];
        for (unsigned int k = 0; k < LOADS; k++) {
            if (begin + k * BLOCK < row.vectors)
                v[k] = row.vector(begin + k * BLOCK);
        }
        for (unsigned int k = 0; k < LOADS; k++) {
            unsigned int at = begin + k * BLOCK;
            if (at < row.vectors)
                list[(before + row.index(at)) / PER_VECTOR<T>] = v[k];
        }
    }
    return elements;
}
// ANCHOR_END: row

// ANCHOR: groups
// COUNT vectors of a row, STEP apart, from number `at` on, as far as the row
// goes. `from`: where the part begins in its row, if it is a part.
template <unsigned int STEP, class Op, unsigned int COUNT>
__device__ void join(Running<Op>& running, const uint4 (&v)[COUNT],
                     const Row<typename Op::In>& row, unsigned int at,
                     unsigned int from = 0) {
    for (unsigned int k = 0; k < COUNT; k++) {
        if (at + k * STEP < row.vectors)
            running.join(v[k], from + row.index(at + k * STEP));
    }
}
template <unsigned int STEP, typename T, unsigned int COUNT>
__device__ void join(Running<MeanVariance<T>>& running,
                     const uint4 (&v)[COUNT], const Row<T>& row,
                     unsigned int at, unsigned int = 0) {
    if (at + (COUNT - 1) * STEP < row.vectors) {
        Moments all = moments<T>(v);
        running.value = running.value.count > 0
                            ? MeanVariance<T>::combine(running.value, all)
                            : all;
        return;
    }
    for (unsigned int k = 0; k + 1 < COUNT; k++) {
        if (at + k * STEP < row.vectors) running.join(v[k], 0);
    }
}
// Groups of LANES lanes, each with its own row. A group has ROWS rows on
// their way at once, and a lane has LOADS vectors of each. ALIGNED: every row
// begins at a multiple of 16 bytes and ends with a whole vector, so there are
// no odd elements.
template <class Op, unsigned int BLOCK, unsigned int LANES, unsigned int ROWS,
          unsigned int LOADS, bool ALIGNED>
__device__ void groups_of(const typename Op::In* in, typename Op::Out* out,
                          unsigned long long rows, unsigned int cols,
                          unsigned long long pitch) {
    using T = typename Op::In;
    constexpr unsigned int GROUPS = BLOCK / LANES,
                           ODD = (2 * PER_VECTOR<T> - 2 + LANES - 1) / LANES;
    unsigned int lane = threadIdx.x % LANES;
    unsigned long long step =
        static_cast<unsigned long long>(gridDim.x) * (GROUPS * ROWS);
    // A block stays in the loop as a whole: lanes without a row still take
    // part in their warp's shuffles.
    for (unsigned long long tile = blockIdx.x * (GROUPS * ROWS); tile < rows;
         tile += step) {
        unsigned long long first = tile + threadIdx.x / LANES;
        auto row = [&](unsigned int r) {
            unsigned long long at = first + r * GROUPS;
            return at < rows ? Row<T>(in + at * pitch, cols, ALIGNED)
                             : Row<T>(in, 0, true);
        };
        T odd[ROWS][ODD];
        if (!ALIGNED) {
            for (unsigned int r = 0; r < ROWS; r++) {
                for (unsigned int k = 0; k < ODD; k++) {
                    unsigned int j = lane + k * LANES;
                    if (j < row(r).odd)
                        odd[r][k] = row(r).begin[row(r).place(j)];
                }
            }
        }
        Running<Op> running[ROWS];
        for (unsigned int at = lane; at < cols / PER_VECTOR<T>;
             at += LANES * LOADS) {
            uint4 v[ROWS][LOADS];
            for (unsigned int r = 0; r < ROWS; r++) {
                for (unsigned int k = 0; k < LOADS; k++) {
                    if (at + k * LANES < row(r).vectors)
                        v[r][k] = row(r).vector(at + k * LANES);
                }
            }
            for (unsigned int r = 0; r < ROWS; r++)
                join<LANES>(running[r], v[r], row(r), at);
        }
        for (unsigned int r = 0; r < ROWS; r++) {
            auto value = running[r].settled();
            for (unsigned int k = 0; !ALIGNED && k < ODD; k++) {
                unsigned int j = lane + k * LANES;
                if (j < row(r).odd)
                    value = Op::combine(value,
                                        Op::lift(odd[r][k], row(r).place(j)));
            }
            value = group_value<Op, LANES>(value);
            if (lane == 0 && first + r * GROUPS < rows)
                out[first + r * GROUPS] = Op::finish(value, cols);
        }
    }
}
template <class Op, unsigned int BLOCK, unsigned int LANES, unsigned int ROWS,
          unsigned int LOADS>
__device__ void groups(const typename Op::In* in, typename Op::Out* out,
                       unsigned long long rows, unsigned int cols,
                       unsigned long long pitch) {
    constexpr unsigned int PER = PER_VECTOR<typename Op::In>;
    bool aligned =
        reinterpret_cast<unsigned long long>(in) % sizeof(uint4) == 0 &&
        cols % PER == 0 && pitch % PER == 0;
    if (aligned)
        groups_of<Op, BLOCK, LANES, ROWS, LOADS, true>(
            in, out, rows, cols, pitch);
    else // a row needs more registers here
        groups_of<Op, BLOCK, LANES, ROWS < 2 ? ROWS : 2, LOADS, false>(
            in, out, rows, cols, pitch);
}
// ANCHOR_END: groups

// ANCHOR: short
// Rows of at most MOST elements, one behind the other, that do not all begin
// at a multiple of 16 bytes. A block reads BLOCK of them as if they were one
// row, and each thread takes one row out of shared memory.
template <class Op, unsigned int BLOCK, unsigned int MOST>
__device__ void short_rows(const typename Op::In* in, typename Op::Out* out,
                           unsigned long long rows, unsigned int cols) {
    using T = typename Op::In;
    __shared__ uint4 list[BLOCK * MOST / PER_VECTOR<T> + 2];
    unsigned long long first =
        static_cast<unsigned long long>(blockIdx.x) * BLOCK;
    unsigned int count =
        min(static_cast<unsigned long long>(BLOCK), rows - first);
    const T* elements =
        bring<BLOCK>(Row<T>(in + first * cols, count * cols, false), list) +
        threadIdx.x * cols;
    __syncthreads();
    if (threadIdx.x >= count) return;
    auto value = Op::identity();
    for (unsigned int c = 0; c < cols; c++)
        value = Op::combine(value, Op::lift(elements[c], c));
    out[first + threadIdx.x] = Op::finish(value, cols);
}
// ANCHOR_END: short

// ANCHOR: block
// A thread's share of a row, or of a part of one. A TEAM of threads, a block
// or a warp, takes it with LOADS vectors on their way at once. `from` is
// where the part begins in its row.
template <class Op, unsigned int TEAM, unsigned int LOADS>
__device__ typename Op::Value share(Row<typename Op::In> row,
                                    unsigned int from) {
    using T = typename Op::In;
    static_assert(2 * PER_VECTOR<T> - 2 <= TEAM,
                  "a thread takes one odd element at most");
    unsigned int me = threadIdx.x % TEAM;
    T odd;
    if (me < row.odd) odd = row.begin[row.place(me)];
    Running<Op> running;
    for (unsigned int at = me; at < row.vectors; at += TEAM * LOADS) {
        uint4 v[LOADS];
        for (unsigned int k = 0; k < LOADS; k++) {
            if (at + k * TEAM < row.vectors) v[k] = row.vector(at + k * TEAM);
        }
        join<TEAM>(running, v, row, at, from);
    }
    auto value = running.settled();
    if (me < row.odd)
        value = Op::combine(value, Op::lift(odd, from + row.place(me)));
    return value;
}
// Each block takes a row, then the row gridDim.x further on, and so forth.
// Warp 0 combines the values of a row while the others read the next.
template <class Op, unsigned int BLOCK, unsigned int LOADS>
__device__ void block(const typename Op::In* in, typename Op::Out* out,
                      unsigned long long rows, unsigned int cols,
                      unsigned long long pitch) {
    __shared__ BlockBuffer<Op, BLOCK> buffers[2];
    unsigned int turn = 0;
    for (unsigned long long at = blockIdx.x; at < rows;
         at += gridDim.x, turn ^= 1) {
        Row<typename Op::In> row(in + at * pitch, cols, false);
        auto value = block_value<Op, BLOCK>(share<Op, BLOCK, LOADS>(row, 0),
                                            buffers[turn]);
        if (threadIdx.x == 0) out[at] = Op::finish(value, cols);
    }
}
// ANCHOR_END: block

// ANCHOR: parts
// True in the last of `count` blocks that call it, which may then read what
// all of them wrote before. The ticket is 0 before a launch and after it.
__device__ bool is_last(unsigned int* ticket, unsigned int count) {
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = atomicAdd(ticket, 1) == count - 1;
        if (last) atomicExch(ticket, 0);
        __threadfence();
    }
    __syncthreads();
    return last;
}
// Many blocks for each row, one part each. The last block to finish combines
// the parts in the order of their numbers: the same bits every time.
template <class Op, unsigned int BLOCK, unsigned int LOADS>
__device__ void parts(const typename Op::In* in, typename Op::Out* out,
                      unsigned int cols, unsigned long long pitch,
                      unsigned int count, unsigned int length,
                      typename Op::Value* values, unsigned int* tickets) {
    __shared__ BlockBuffer<Op, BLOCK> buffers[2];
    unsigned int row = blockIdx.x / count, from = blockIdx.x % count * length;
    Row<typename Op::In> part(in + row * pitch + from,
                              min(length, cols - from), false);
    auto value = block_value<Op, BLOCK>(share<Op, BLOCK, LOADS>(part, from),
                                        buffers[0]);
    // ANCHOR: last
    if (threadIdx.x == 0) values[blockIdx.x] = value;
    if (!is_last(tickets + row, count)) return;
    value = Op::identity();
    for (unsigned int k = threadIdx.x; k < count; k += BLOCK)
        value = Op::combine(value, values[row * count + k]);
    value = block_value<Op, BLOCK>(value, buffers[1]);
    if (threadIdx.x == 0) out[row] = Op::finish(value, cols);
    // ANCHOR_END: last
}
// ANCHOR_END: parts

// ANCHOR: columns
// One value for each column. X neighbouring lanes take W columns each, a
// vector or an element of a row; a block has BLOCK / X rows on their way,
// UNROLL times. `count` blocks share the rows of a tile of columns, and the
// last of them combines their values.
template <typename T, unsigned int W> struct Several { T x[W]; };
// Combines `each` values of every column, by teams of threads as wide as the
// tile. One thread for each column hands the result to `use`.
template <class Op, unsigned int BLOCK, unsigned int WIDTH, class Use>
__device__ void bring_together(typename Op::Value* of_tile,
                               const typename Op::Value* of_columns,
                               unsigned int each, Use use) {
    constexpr unsigned int WIDE = WIDTH < BLOCK ? WIDTH : BLOCK,
                           TEAMS = BLOCK / WIDE;
    unsigned int team = threadIdx.x / WIDE;
    // A single team may go round more than once.
    for (unsigned int c = threadIdx.x % WIDE; c < WIDTH; c += WIDE) {
        auto all = Op::identity();
        for (unsigned int k = team; k < each; k += TEAMS)
            all = Op::combine(all, of_columns[k * WIDTH + c]);
        if (TEAMS > 1) {
            of_tile[team * WIDTH + c] = all;
            __syncthreads();
            for (unsigned int k = 1; team == 0 && k < TEAMS; k++)
                all = Op::combine(all, of_tile[k * WIDTH + c]);
        }
        if (team == 0) use(c, all);
    }
}
template <class Op, unsigned int BLOCK, unsigned int X, unsigned int W,
          unsigned int UNROLL>
__device__ void columns(const typename Op::In* in, typename Op::Out* out,
                        unsigned long long rows, unsigned int cols,
                        unsigned long long pitch, unsigned int count,
                        typename Op::Value* values, unsigned int* tickets) {
    using T = typename Op::In;
    using V = typename Op::Value;
    // Rows and columns of a tile.
    constexpr unsigned int Y = BLOCK / X, WIDTH = X * W;
    __shared__ V of_tile[Y * WIDTH];
    unsigned int tiles = gridDim.x / count, tile = blockIdx.x % tiles,
                 part = blockIdx.x / tiles;
    unsigned int x = threadIdx.x % X, y = threadIdx.x / X;
    unsigned int column = tile * WIDTH + x * W;
    bool is_there = column < cols; // W divides cols, and the pitch
    bool aligned =
        reinterpret_cast<unsigned long long>(in) % sizeof(uint4) == 0;
    unsigned long long from = rows * part / count,
                       to = rows * (part + 1) / count;
    V value[W];
    for (unsigned int w = 0; w < W; w++) value[w] = Op::identity();
    for (unsigned long long row = from + y; is_there && row < to;
         row += Y * UNROLL) {
        Several<T, W> piece[UNROLL];
        const T* begin = in + row * pitch + column;
        for (unsigned int k = 0; k < UNROLL; k++) {
            if (row + k * Y >= to) continue;
            const T* at = begin + k * Y * pitch;
            if (W > 1 && aligned) {
                uint4 v = load_once(at);
                memcpy(&piece[k], &v, sizeof(piece[k]));
            } else {
                for (unsigned int w = 0; w < W; w++) piece[k].x[w] = at[w];
            }
        }
        for (unsigned int k = 0; k < UNROLL; k++) {
            if (row + k * Y >= to) continue;
            // ANCHOR: down
            for (unsigned int w = 0; w < W; w++) {
                value[w] = Op::combine(value[w], Op::lift(
                    piece[k].x[w], static_cast<unsigned int>(row + k * Y)));
            }
        }
    }
    for (unsigned int w = 0; w < W; w++)
        of_tile[y * WIDTH + x * W + w] = value[w];
    __syncthreads();
    // ANCHOR_END: down

    auto finish = [=](unsigned int c, V all) {
        if (tile * WIDTH + c < cols)
            out[tile * WIDTH + c] = Op::finish(all, rows);
    };
    if (count == 1)
        return bring_together<Op, BLOCK, WIDTH>(of_tile, of_tile, Y, finish);
    V* of_parts =
        values + static_cast<unsigned long long>(tile) * count * WIDTH;
    bring_together<Op, BLOCK, WIDTH>(
        of_tile, of_tile, Y,
        [=](unsigned int c, V all) { of_parts[part * WIDTH + c] = all; });
    if (is_last(tickets + tile, count))
        bring_together<Op, BLOCK, WIDTH>(of_tile, of_parts, count, finish);
}
// ANCHOR_END: columns

// ---- ragged rows: row r is in[offsets[r]] to in[offsets[r + 1]] ----------------------------------------------

// ANCHOR: path
// All work is one list of steps: each element, and each end of a row. Returns
// how many rows have ended in the first `steps` of it; the other steps are
// elements. `ends` are counted from the first element on.
template <typename Count, typename End>
__device__ Count rows_ended(const End* ends, Count first, Count rows,
                            Count elements, Count steps) {
    Count low = steps > elements ? steps - elements : 0,
          high = min(steps, rows);
    // ANCHOR: search
    while (low < high) {
        Count middle = (low + high) / 2;
        if (ends[middle] - first < steps - middle) low = middle + 1;
        else high = middle;
    }
    return low;
    // ANCHOR_END: search
}
// ANCHOR_END: path

// ANCHOR: ragged
// The same by a warp, which tries 32 places at once: four trips to memory for
// a million rows, five for 33 million.
template <typename Offset>
__device__ unsigned long long rows_ended_of_all(const Offset* ends,
                                                unsigned long long first,
                                                unsigned long long rows,
                                                unsigned long long elements,
                                                unsigned long long steps) {
    unsigned long long low = steps > elements ? steps - elements : 0,
                       high = min(steps, rows);
    while (low < high) {
        unsigned long long apart = (high - low + WARP - 1) / WARP,
                           middle = low + threadIdx.x % WARP * apart;
        bool has_ended =
            middle < high && ends[middle] - first < steps - middle;
        // The lanes below the place that the search is for.
        unsigned int ended = __popc(__ballot_sync(FULL, has_ended));
        high = ended ? min(high, low + ended * apart) : low;
        low = ended ? low + (ended - 1) * apart + 1 : low;
    }
    return low;
}

// Every block takes the same number of steps, and so does every thread of it,
// whatever the rows are like. The end of a row that began before the block
// goes into `heads`; the row that the block begins and does not end goes into
// `carries`.
template <class Op>
struct Carry { typename Op::Value value; unsigned int has_end; };
template <class Op> __device__ Carry<Op> after(Carry<Op> a, Carry<Op> b) {
    if (b.has_end) return b;
    return {Op::combine(a.value, b.value), a.has_end};
}
template <class Op>
__device__ Carry<Op> of_lane_before(Carry<Op> carry, unsigned int offset) {
    return shuffled(carry, [=](unsigned int word) {
        return __shfl_up_sync(FULL, word, offset);
    });
}
template <class Op, typename Offset, unsigned int BLOCK, unsigned int STEPS>
__device__ void ragged(const typename Op::In* in, const Offset* offsets,
                       typename Op::Out* out, unsigned long long rows,
                       typename Op::Value* carries, typename Op::Value* heads,
                       unsigned long long* cuts) {
    using T = typename Op::In;
    using Count = unsigned long long;
    static_assert(STEPS % 2 == 1,
    "threads that begin an odd number of words apart read different banks");
    constexpr unsigned int TILE = BLOCK * STEPS, PER = PER_VECTOR<T>,
                           WARPS = BLOCK / WARP;
    __shared__ Count bounds[2];
    // elements from the front, ends from the back: together TILE steps
    __shared__ uint4 list[(TILE + 2 * PER) / 4 + 1];
    __shared__ Carry<Op> of_warps[WARPS];
    // Offsets may end before the elements that the grid is for.
    Count base = offsets[0], n = offsets[rows] - base,
          begun = min(static_cast<Count>(blockIdx.x) * TILE, n + rows);
    Count done = min(begun + TILE, n + rows);
    unsigned int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    if (warp < 2) {
        Count found = rows_ended_of_all(offsets + 1, base, rows, n,
                                        warp == 0 ? begun : done);
        if (lane == 0) bounds[warp] = found;
    }
    __syncthreads();
    Count row = bounds[0], element = begun - row;
    // Where the block's first row begins.
    Count begins = row < rows ? offsets[row] - base : n;
    unsigned int ended = bounds[1] - row, steps = done - begun,
                 taken = steps - ended;
    Row<T> all_taken(in + base + element, taken, false);
    bool is_cut = begins < element;
    constexpr unsigned int LONG = 512;
    // Few rows: each warp takes the same number of elements, and has a value
    // for each row that it meets.
    if (ended * LONG <= taken) {
        __shared__ typename Op::Value of_rows[TILE / LONG + 1][WARPS];
        unsigned int from = taken * warp / WARPS,
                     to = taken * (warp + 1) / WARPS;
        unsigned int end = lane < ended
                               ? static_cast<unsigned int>(
                                     offsets[row + 1 + lane] - base - element)
                               : taken;
        // A row that begins before the block does so modulo 2^32.
        unsigned int begin = static_cast<unsigned int>(begins - element);
        for (unsigned int k = 0, after = 0; k <= ended; k++) {
            unsigned int first = max(from, after),
                         past = min(to, after = __shfl_sync(FULL, end, k));
            auto value = Op::identity();
            if (first < past) {
                Row<T> piece(all_taken.begin + first, past - first, false);
                value = group_value<Op, WARP>(
                    share<Op, WARP, 4>(piece, first - begin));
            }
            if (lane == 0) of_rows[k][warp] = value;
            begin = after;
        }
        __syncthreads();
        unsigned int k = threadIdx.x;
        auto value = Op::identity();
        for (unsigned int w = 0; k <= ended && w < WARPS; w++)
            value = Op::combine(value, of_rows[k][w]);
        if (k == ended) carries[blockIdx.x] = value;
        else if (k == 0 && is_cut) heads[blockIdx.x] = value;
        else if (k < ended)
            out[row + k] =
                Op::finish(value, offsets[row + k + 1] - offsets[row + k]);
        if (k == 0) cuts[blockIdx.x] = is_cut && ended > 0 ? row + 1 : 0;
        return;
    }

    unsigned int* ends =
        reinterpret_cast<unsigned int*>(list + sizeof(list) / sizeof(uint4)) -
        (ended + 1);
    T* elements = bring<BLOCK>(all_taken, list);
    for (unsigned int k = threadIdx.x; k < ended; k += BLOCK)
        ends[k] = offsets[row + 1 + k] - base - element;
    if (threadIdx.x == 0) ends[ended] = NOWHERE;
    __syncthreads();

    // A thread's steps. Of the rows that end in them, the first may have
    // begun before.
    unsigned int my_steps = min(threadIdx.x * STEPS, steps);
    unsigned int r = rows_ended<unsigned int>(ends, 0, ended, taken,
                                              my_steps),
                 e = my_steps - r;
    // before the block: modulo 2^32
    unsigned int begin =
        r > 0 ? ends[r - 1] : static_cast<unsigned int>(begins - element);
    unsigned int count = min(STEPS, steps - my_steps), end = ends[r];
    Carry<Op> mine = {Op::identity(), 0};
    auto head = Op::identity();
    unsigned int head_row = r, head_begin = begin;
    for (unsigned int k = 0; k < STEPS; k++) {
        if (k >= count) break;
        if (e < end) {
            mine.value =
                Op::combine(mine.value, Op::lift(elements[e], e - begin));
            e++;
            continue;
        }
        if (!mine.has_end) head = mine.value;
        else out[row + r] = Op::finish(mine.value, end - begin);
        mine = {Op::identity(), 1};
        begin = end, end = ends[++r];
    }

    // What the threads before this one have begun and not ended: a scan of
    // each warp, then the warps before it.
    Carry<Op> all = mine, before = {Op::identity(), 0};
    for (unsigned int offset = 1; offset < WARP; offset *= 2) {
        Carry<Op> other = of_lane_before(all, offset);
        if (lane >= offset) all = after(other, all);
    }
    if (lane == WARP - 1) of_warps[warp] = all;
    __syncthreads();
    for (unsigned int k = 0; k < warp; k++)
        before = after(before, of_warps[k]);
    Carry<Op> left = of_lane_before(all, 1);
    if (lane > 0) before = after(before, left);

    if (mine.has_end) {
        auto value = Op::combine(before.value, head);
        if (head_row == 0 && is_cut) heads[blockIdx.x] = value;
        else
            out[row + head_row] =
                Op::finish(value, ends[head_row] - head_begin);
    }
    if (threadIdx.x == BLOCK - 1)
        carries[blockIdx.x] = after(before, mine).value;
    if (threadIdx.x == 0) cuts[blockIdx.x] = is_cut ? row + 1 : 0;
}
// ANCHOR_END: ragged

// ANCHOR: sew
// The rows that were cut: what blocks `from` to `tile` - 1 have carried, and
// the end that `tile` has of it. A warp a tile, and a block where a row lies
// over many.
template <class Op, typename Offset, unsigned int BLOCK, unsigned int TILE>
__device__ void sew(const Offset* offsets, typename Op::Out* out,
                    const typename Op::Value* carries,
                    const typename Op::Value* heads,
                    const unsigned long long* cuts, unsigned int tiles) {
    constexpr unsigned int WARPS = BLOCK / WARP, FEW = 4 * WARP;
    __shared__ BlockBuffer<Op, BLOCK> buffers[2];
    unsigned int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP,
                 turn = 0;
    for (unsigned int k = 0; k < WARPS; k++) {
        unsigned int tile = blockIdx.x * WARPS + k;
        unsigned long long cut = tile < tiles ? cuts[tile] : 0;
        if (cut == 0) continue;
        unsigned long long row = cut - 1;
        unsigned int from = (offsets[row] - offsets[0] + row) / TILE;
        bool is_few = tile - from <= FEW;
        if (is_few && warp != k) continue;
        auto value = Op::identity();
        for (unsigned int at = from + (is_few ? lane : threadIdx.x);
             at < tile; at += is_few ? WARP : BLOCK) {
            value = Op::combine(value, carries[at]);
        }
        if (is_few) value = group_value<Op, WARP>(value);
        else value = block_value<Op, BLOCK>(value, buffers[turn]), turn ^= 1;
        if (threadIdx.x == (is_few ? warp * WARP : 0)) {
            out[row] = Op::finish(Op::combine(value, heads[tile]),
                                  offsets[row + 1] - offsets[row]);
        }
    }
}
// ANCHOR_END: sew

// ANCHOR: entries
// C names, so that a host program finds each instance by the name that the
// reader sees: block_argmax_t256u4_f32.
#define LESSON(MONOID, OP, TYPE) \
    extern "C" __global__ void __launch_bounds__(256) thread_a_row##OP##_##TYPE( \
        const MONOID::In* in, MONOID::Out* out, unsigned long long rows, unsigned int cols, unsigned long long pitch) { \
        thread_a_row<MONOID>(in, out, rows, cols, pitch); } \
    extern "C" __global__ void __launch_bounds__(256) block_a_row##OP##_##TYPE( \
        const MONOID::In* in, MONOID::Out* out, unsigned int cols, unsigned long long pitch) { \
        block_a_row<MONOID, 256>(in, out, cols, pitch); }
#define GROUPS(MONOID, OP, TYPE, LANES, ROWS, LOADS) \
    extern "C" __global__ void __launch_bounds__(256) groups##OP##_l##LANES##r##ROWS##u##LOADS##_##TYPE( \
        const MONOID::In* in, MONOID::Out* out, unsigned long long rows, unsigned int cols, unsigned long long pitch) { \
        groups<MONOID, 256, LANES, ROWS, LOADS>(in, out, rows, cols, pitch); }
#define SHORT(MONOID, OP, TYPE, MOST) \
    extern "C" __global__ void __launch_bounds__(256) short##OP##_m##MOST##_##TYPE( \
        const MONOID::In* in, MONOID::Out* out, unsigned long long rows, unsigned int cols) { \
        short_rows<MONOID, 256, MOST>(in, out, rows, cols); }
#define BLOCK(MONOID, OP, TYPE, THREADS, LOADS) \
    extern "C" __global__ void __launch_bounds__(THREADS) block##OP##_t##THREADS##u##LOADS##_##TYPE( \
        const MONOID::In* in, MONOID::Out* out, unsigned long long rows, unsigned int cols, unsigned long long pitch) { \
        block<MONOID, THREADS, LOADS>(in, out, rows, cols, pitch); }
#define PARTS(MONOID, OP, TYPE, THREADS, LOADS) \
    extern "C" __global__ void __launch_bounds__(THREADS) parts##OP##_t##THREADS##u##LOADS##_##TYPE( \
        const MONOID::In* in, MONOID::Out* out, unsigned int cols, unsigned long long pitch, unsigned int count, \
        unsigned int length, MONOID::Value* values, unsigned int* tickets) { \
        parts<MONOID, THREADS, LOADS>(in, out, cols, pitch, count, length, values, tickets); }
#define COLUMNS(MONOID, OP, TYPE, LANES, WIDTH, LOADS) \
    extern "C" __global__ void __launch_bounds__(256) columns##OP##_x##LANES##w##WIDTH##u##LOADS##_##TYPE( \
        const MONOID::In* in, MONOID::Out* out, unsigned long long rows, unsigned int cols, unsigned long long pitch, \
        unsigned int count, MONOID::Value* values, unsigned int* tickets) { \
        columns<MONOID, 256, LANES, WIDTH, LOADS>(in, out, rows, cols, pitch, count, values, tickets); }
// Columns of each slice of a tensor: the axis in the middle, for programs.
#define AXIS(MONOID, OP, TYPE, LANES, WIDTH, LOADS) \
    extern "C" __global__ void __launch_bounds__(256) axis##OP##_x##LANES##w##WIDTH##u##LOADS##_##TYPE( \
        const MONOID::In* in, MONOID::Out* out, unsigned long long rows, unsigned int cols, unsigned long long pitch, \
        unsigned int count, MONOID::Value* values, unsigned int* tickets, unsigned long long slice, \
        unsigned long long first) { \
        unsigned long long at = first + blockIdx.y; \
        columns<MONOID, 256, LANES, WIDTH, LOADS>( \
            in + at * slice, out + at * cols, rows, cols, pitch, count, values + at * gridDim.x * (LANES * WIDTH), \
            tickets + at * (gridDim.x / count)); }
#define RAGGED(MONOID, OP, TYPE, OFFSET, NAME, STEPS) \
    extern "C" __global__ void __launch_bounds__(256, 5) ragged##OP##_##NAME##_s##STEPS##_##TYPE( \
        const MONOID::In* in, const OFFSET* offsets, MONOID::Out* out, unsigned long long rows, MONOID::Value* carries, \
        MONOID::Value* heads, unsigned long long* cuts) { \
        ragged<MONOID, OFFSET, 256, STEPS>(in, offsets, out, rows, carries, heads, cuts); } \
    extern "C" __global__ void __launch_bounds__(256) sew##OP##_##NAME##_s##STEPS##_##TYPE( \
        const OFFSET* offsets, MONOID::Out* out, const MONOID::Value* carries, const MONOID::Value* heads, \
        const unsigned long long* cuts, unsigned int tiles) { \
        sew<MONOID, OFFSET, 256, 256 * STEPS>(offsets, out, carries, heads, cuts, tiles); }

// The shapes that every device can run. A GPU gets others that suit the
// input, compiled from this file when they are first wanted.
#ifndef WANTED_ALONE
#define SHAPES(MONOID, OP, TYPE, PER_VECTOR) \
    LESSON(MONOID, OP, TYPE) \
    GROUPS(MONOID, OP, TYPE, 8, 1, 2) GROUPS(MONOID, OP, TYPE, 32, 1, 2) SHORT(MONOID, OP, TYPE, 16) \
    BLOCK(MONOID, OP, TYPE, 256, 4) PARTS(MONOID, OP, TYPE, 256, 4) \
    COLUMNS(MONOID, OP, TYPE, 32, PER_VECTOR, 2) COLUMNS(MONOID, OP, TYPE, 32, 1, 4) \
    AXIS(MONOID, OP, TYPE, 32, 1, 2) \
    RAGGED(MONOID, OP, TYPE, unsigned int, o32, 7) RAGGED(MONOID, OP, TYPE, unsigned long long, o64, 7)
#define OPERATORS(T, TYPE, PER_VECTOR) \
    SHAPES(Sum<T>, , TYPE, PER_VECTOR) SHAPES(Max<T>, _max, TYPE, PER_VECTOR) \
    SHAPES(Maximum<T>, _maximum, TYPE, PER_VECTOR) SHAPES(ArgMax<T>, _argmax, TYPE, PER_VECTOR) \
    SHAPES(MeanVariance<T>, _meanvar, TYPE, PER_VECTOR)
SHAPES(Sum<int>, , i32, 4)
OPERATORS(float, f32, 4)
OPERATORS(bf16, bf16, 8)
OPERATORS(f16, f16, 8)
#endif
// ANCHOR_END: entries

// ---- no lesson: kernels that the library launches ----
#ifndef WANTED_ALONE
// Offsets that nobody vouches for: a copy, if they rise and the last is
// within the elements, and else zeros, which make every row empty. Each block
// says whether it found one that is wrong.
template <typename Offset>
__device__ void check_offsets(const Offset* offsets, unsigned long long count,
                              unsigned long long elements,
                              unsigned int* wrong) {
    bool is_wrong = false;
    for (unsigned long long i = blockIdx.x * 256ull + threadIdx.x; i < count;
         i += gridDim.x * 256ull) {
        unsigned long long next = i + 1 < count ? offsets[i + 1] : elements;
        is_wrong |= offsets[i] > next;
    }
    is_wrong = __syncthreads_or(is_wrong);
    if (threadIdx.x == 0) wrong[blockIdx.x] = is_wrong;
}
// In as many blocks, 256 at most.
template <typename Offset>
__device__ void copy_offsets(const Offset* offsets, unsigned long long count,
                             const unsigned int* wrong, Offset* copy,
                             unsigned int* flag) {
    bool is_wrong = __syncthreads_or(threadIdx.x < gridDim.x && wrong[threadIdx.x]);
    if (is_wrong && blockIdx.x == 0 && threadIdx.x == 0) *flag = 1;
    for (unsigned long long i = blockIdx.x * 256ull + threadIdx.x; i < count;
         i += gridDim.x * 256ull)
        copy[i] = is_wrong ? 0 : offsets[i];
}
#define OFFSETS(OFFSET, NAME) \
    extern "C" __global__ void __launch_bounds__(256) check_offsets_##NAME( \
        const OFFSET* offsets, unsigned long long count, unsigned long long elements, unsigned int* wrong) { \
        check_offsets(offsets, count, elements, wrong); } \
    extern "C" __global__ void __launch_bounds__(256) copy_offsets_##NAME( \
        const OFFSET* offsets, unsigned long long count, const unsigned int* wrong, OFFSET* copy, unsigned int* flag) { \
        copy_offsets(offsets, count, wrong, copy, flag); }
OFFSETS(unsigned int, o32)
OFFSETS(unsigned long long, o64)
#endif
