// Chapter 14: one sum over several GPUs, and each of them gets all of it.
//
// Idea.   Every device may touch the memory of its peers. So a rank (a device with its share) leaves its
//         array where the others can read it, says so with a flag, waits for theirs, and adds. All add in
//         the order of ranks, so that all have the same bits.
// Limit.  The link between the devices: its delay for few bytes, its bandwidth for many. One shot sends
//         (R - 1) n elements out of each of R ranks, two shots 2 (R - 1) / R n.
// Worked. Eight ranks with 2^20 floats, 4 MiB each: in one shot each rank gets 28 MiB from its peers, in
//         two shots 3.5 MiB of contributions and 3.5 MiB of sums.

using u32 = unsigned int;
using u64 = unsigned long long;
constexpr u32 MAX_RANKS = 8;

// ---- elements ----

struct bf16 { unsigned short bits; }; // the upper half of a float

__device__ float widen(float x) { return x; }
__device__ float widen(bf16 x) { return __uint_as_float(x.bits << 16); }
__device__ void narrow(float x, float& out) { out = x; }
__device__ void narrow(float x, bf16& out) {
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(out.bits) : "f"(x));
}

struct Sum {
    static __device__ float combine(float a, float b) { return a + b; }
};
struct Maximum { // one NaN makes the result a NaN
    static __device__ float combine(float a, float b) {
        float best;
        asm("max.NaN.f32 %0, %1, %2;" : "=f"(best) : "f"(a), "f"(b));
        return best;
    }
};

// Elements that travel together: 16 bytes, or the 4 bytes beside an epoch.
template <typename T, u32 BYTES> struct alignas(BYTES) Pack {
    static constexpr u32 COUNT = BYTES / sizeof(T);
    T x[COUNT];
};
template <typename T> using Pack16 = Pack<T, 16>;
template <typename T> using Pack4 = Pack<T, 4>;

template <typename P> __device__ bool is_aligned(const void* array) {
    return reinterpret_cast<u64>(array) % sizeof(P) == 0;
}

// Pack i of an array of n elements. The last pack may have fewer, and an
// array may begin anywhere: then element by element.
template <typename P, typename T> __device__ P load(const T* array, u64 i, u64 n) {
    P pack = {};
    if (is_aligned<P>(array) && (i + 1) * P::COUNT <= n) return reinterpret_cast<const P*>(array)[i];
#pragma unroll
    for (u32 k = 0; k < P::COUNT; k++) {
        if (i * P::COUNT + k < n) pack.x[k] = array[i * P::COUNT + k];
    }
    return pack;
}

template <typename P, typename T> __device__ void store(T* array, u64 i, u64 n, P pack) {
    if (is_aligned<P>(array) && (i + 1) * P::COUNT <= n) {
        reinterpret_cast<P*>(array)[i] = pack;
        return;
    }
#pragma unroll
    for (u32 k = 0; k < P::COUNT; k++) {
        if (i * P::COUNT + k < n) array[i * P::COUNT + k] = pack.x[k];
    }
}

// ANCHOR: in_order
// The contributions of all ranks, added from rank 0 on: as floats, also where
// elements are narrower, and rounded once. All loads are under way before the
// first addition. `of(r)` is the contribution of rank r.
template <class Op, typename P, typename Of>
__device__ P in_order(u32 ranks, Of of) {
    P each[MAX_RANKS];
#pragma unroll
    for (u32 r = 0; r < MAX_RANKS; r++) {
        if (r < ranks) each[r] = of(r);
    }
    P result;
    // ANCHOR: added
#pragma unroll
    for (u32 k = 0; k < P::COUNT; k++) {
        float value = widen(each[0].x[k]);
#pragma unroll
        for (u32 r = 1; r < MAX_RANKS; r++) {
            if (r < ranks) value = Op::combine(value, widen(each[r].x[k]));
        }
        narrow(value, result.x[k]);
    }
    // ANCHOR_END: added
    return result;
}
// ANCHOR_END: in_order

// ANCHOR: peers
// ANCHOR: addresses
// An array on each device, by rank. Addresses of all devices are different,
// and a kernel on one of them may use those of the others.
template <typename T> struct Peers { T* of[MAX_RANKS]; };

template <typename T> struct Arrays {
    Peers<const T> in;
    Peers<T> out;
    Peers<Pack16<T>> stage; // where contributions are left for others
    Peers<u64> flags;
    u64* calls;             // the rank's own count, a word for each block
};
// ANCHOR_END: addresses

// All ranks make the same calls, whose numbers count from 1. A staging array
// has two halves of `half` packs of 16 bytes, used in turn: a peer that is
// late may still read what the call before has left. A half that is pushed
// to has a slot of `slot` packs for each rank.
struct Call { u32 rank, ranks; u64 number; u32 slot, half; };
// ANCHOR_END: peers

// ---- meeting ----

// ANCHOR: count
// The number of this call. It is counted on the device, so that a graph can
// be replayed. Each block has a word of its own, as blocks do not wait for
// each other; those that run count for those of larger grids too. A call of
// nothing does not count: its ranks do not wait for each other either.
__device__ u64 count(u64* calls, u32 blocks_max) {
    u64 number = calls[blockIdx.x] + 1;
    __syncthreads(); // every thread has read it
    u32 block = blockIdx.x + threadIdx.x * gridDim.x;
    for (; block < blocks_max; block += blockDim.x * gridDim.x) {
        calls[block] = number;
    }
    return number;
}
// ANCHOR_END: count

// ANCHOR: flags
__device__ void set(u64* flag, u64 value) {
    asm volatile("st.release.sys.global.u64 [%0], %1;"
                 :: "l"(flag), "l"(value) : "memory");
}
__device__ u64 look(const u64* flag) {
    u64 value;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];"
                 : "=l"(value) : "l"(flag) : "memory");
    return value;
}

// A flag for each pair of ranks and each block. It lies with the rank that
// waits for it, so that it looks at its own memory.
__device__ u64* flag(const Peers<u64>& flags, u32 at, u32 from) {
    return flags.of[at] + blockIdx.x * MAX_RANKS + from;
}
// ANCHOR_END: flags

// ANCHOR: meet
// The blocks of this index of all ranks wait for each other. What each has
// done before is there for all of them afterwards. `step` only grows, so that
// no flag must be put back before it is used again. All blocks must find room
// on their device at once, as they wait for others.
__device__ void meet(const Peers<u64>& flags, Call call, u64 step) {
    __syncthreads(); // the whole block's work comes before its flags
    u32 peer = threadIdx.x;
    if (peer < call.ranks) {
        set(flag(flags, peer, call.rank), step);
        const u64* come = flag(flags, call.rank, peer);
        while (look(come) < step) {}
    }
    __syncthreads(); // no thread goes on before all peers have come
}
// ANCHOR_END: meet

// Each call has two steps to meet at, and its half of the staging array.
__device__ u64 first_step(Call call) { return 2 * call.number; }
__device__ u64 half(Call call) { return call.number % 2 * call.half; }

// A part of the packs. All blocks go through it side by side, which is faster
// over the link than a stretch for each. A block has the same packs on all
// ranks, since blocks of one index meet.
struct Part {
    u64 begin, end;
    // Part i of `parts`, which differ by one pack at most.
    __device__ Part part(u64 i, u64 parts) const {
        u64 packs = end - begin;
        return {begin + packs * i / parts, begin + packs * (i + 1) / parts};
    }
    template <typename F> __device__ void each(F f) const {
        u64 stride = u64(gridDim.x) * blockDim.x;
        u64 i = begin + u64(blockIdx.x) * blockDim.x + threadIdx.x;
#pragma unroll 1
        for (; i < end; i += stride) f(i);
    }
};

// All packs of n elements.
template <typename P> __device__ Part all_of(u64 n) {
    return {0, (n + P::COUNT - 1) / P::COUNT};
}

// ---- the link ----

// ANCHOR: peer_trips
// One thread on each of two devices, and a word that goes to and fro: each
// waits at its own memory, and writes into its peer's.
extern "C" __global__ void peer_trips(u64* mine, u64* theirs, u32 rank, u64 before, u32 count) {
    // ANCHOR: trip
    for (u32 trip = 0; trip < count; trip++) {
        u64 there = before + 2 * trip + 1, back = there + 1;
        if (rank == 0) set(theirs, there);
        while (look(mine) < (rank == 0 ? back : there)) {}
        if (rank == 1) set(theirs, back);
    }
    // ANCHOR_END: trip
}
// ANCHOR_END: peer_trips

// ANCHOR: peer_chase
// Each word is the address of the next: a read cannot begin before the one
// before it has come.
extern "C" __global__ void peer_chase(const u64* at, u32 count, u64* out) {
    for (u32 i = 0; i < count; i++) {
        at = reinterpret_cast<const u64*>(*reinterpret_cast<const volatile u64*>(at));
    }
    *out = reinterpret_cast<u64>(at);
}
// ANCHOR_END: peer_chase

// ANCHOR: peer_copy
// What the link carries: `from` or `to` lies with a peer. Four reads are
// under way for each thread.
extern "C" __global__ void peer_copy(const uint4* from, uint4* to, u64 packs) {
    u64 stride = u64(gridDim.x) * blockDim.x;
    u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    for (; i + 3 * stride < packs; i += 4 * stride) {
        uint4 a = from[i], b = from[i + stride], c = from[i + 2 * stride], d = from[i + 3 * stride];
        to[i] = a;
        to[i + stride] = b;
        to[i + 2 * stride] = c;
        to[i + 3 * stride] = d;
    }
    for (; i < packs; i += stride) to[i] = from[i];
}
// ANCHOR_END: peer_copy

// ---- one shot ----

// ANCHOR: one_shot_pull
// Each rank leaves its array in its own memory, and reads those of all.
template <class Op, typename T>
__device__ void one_shot_pull(const Arrays<T>& a, Call call, u64 n) {
    using P = Pack16<T>;
    u64 at = half(call);
    Part all = all_of<P>(n);
    P* own = a.stage.of[call.rank] + at;
    all.each([&](u64 i) { own[i] = load<P>(a.in.of[call.rank], i, n); });
    meet(a.flags, call, first_step(call));
    all.each([&](u64 i) {
        P sum = in_order<Op, P>(call.ranks, [&](u32 r) {
            return a.stage.of[r][at + i];
        });
        store(a.out.of[call.rank], i, n, sum);
    });
}
// ANCHOR_END: one_shot_pull

// ANCHOR: one_shot_push
// Each rank writes its array into the memory of all others.
template <class Op, typename T>
__device__ void one_shot_push(const Arrays<T>& a, Call call, u64 n) {
    using P = Pack16<T>;
    u64 at = half(call), slot = at + u64(call.rank) * call.slot;
    Part all = all_of<P>(n);
    all.each([&](u64 i) {
        P own = load<P>(a.in.of[call.rank], i, n);
#pragma unroll 1
        for (u32 k = 1; k < call.ranks; k++) {
            a.stage.of[(call.rank + k) % call.ranks][slot + i] = own;
        }
    });
    meet(a.flags, call, first_step(call));
    const P* arrived = a.stage.of[call.rank] + at;
    all.each([&](u64 i) {
        P own = load<P>(a.in.of[call.rank], i, n);
        P sum = in_order<Op, P>(call.ranks, [&](u32 r) {
            return r == call.rank ? own : arrived[u64(r) * call.slot + i];
        });
        store(a.out.of[call.rank], i, n, sum);
    });
}
// ANCHOR_END: one_shot_push

// ---- two shots ----

// ANCHOR: two_shot_push
// Each rank sends every other the part that it adds, and then sends its sums
// to all: nothing is read over the link. A slot has room for a part alone.
template <class Op, typename T>
__device__ void two_shot_push(const Arrays<T>& a, Call call, u64 n) {
    using P = Pack16<T>;
    u64 at = half(call);
    Part all = all_of<P>(n);
    for (u32 k = 1; k < call.ranks; k++) {
        u32 owner = (call.rank + k) % call.ranks; // not all to one at a time
        Part theirs = all.part(owner, call.ranks);
        P* there = a.stage.of[owner] + at + u64(call.rank) * call.slot;
        theirs.each([&](u64 i) {
            there[i - theirs.begin] = load<P>(a.in.of[call.rank], i, n);
        });
    }
    meet(a.flags, call, first_step(call));
    Part ours = all.part(call.rank, call.ranks);
    const P* arrived = a.stage.of[call.rank] + at;
    ours.each([&](u64 i) {
        P own = load<P>(a.in.of[call.rank], i, n);
        P sum = in_order<Op, P>(call.ranks, [&](u32 r) {
            const P* slot = arrived + u64(r) * call.slot;
            return r == call.rank ? own : slot[i - ours.begin];
        });
#pragma unroll 1
        for (u32 r = 0; r < call.ranks; r++) store(a.out.of[r], i, n, sum);
    });
    meet(a.flags, call, first_step(call) + 1);
}
// ANCHOR_END: two_shot_push

// ANCHOR: two_shot_direct
// Nothing is staged: each rank reads its part of all arrays where they lie,
// and writes its sums where all want them, which may be the same place. So
// no rank may begin before all have come, nor leave before all are done.
template <class Op, typename T>
__device__ void two_shot_direct(const Arrays<T>& a, Call call, u64 n) {
    using P = Pack16<T>;
    meet(a.flags, call, first_step(call));
    all_of<P>(n).part(call.rank, call.ranks).each([&](u64 i) {
        P sum = in_order<Op, P>(call.ranks, [&](u32 r) {
            return load<P>(a.in.of[r], i, n);
        });
#pragma unroll 1
        for (u32 r = 0; r < call.ranks; r++) store(a.out.of[r], i, n, sum);
    });
    meet(a.flags, call, first_step(call) + 1);
}
// ANCHOR_END: two_shot_direct

// ---- few bytes ----

// ANCHOR: low_latency
// Four bytes of data and the call's epoch in one word of eight, which arrives
// whole. A thread that finds the epoch has the data: no flag, no fence, no
// second trip. Epochs are odd, and memory is zero before the first call. The
// staging array is for such words alone: other data might look like an epoch.
// (As a word would that was written 2^31 calls ago, and not since.)
__device__ u32 epoch(Call call) {
    return 2 * static_cast<u32>(call.number) + 1;
}
// ANCHOR: word
__device__ void send(u64* to, u32 data, u32 epoch) {
    u64 word = u64(epoch) << 32 | data;
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;"
                 :: "l"(to), "l"(word) : "memory");
}
__device__ u32 receive(const u64* from, u32 epoch) {
    u64 word;
    do {
        asm volatile("ld.relaxed.sys.global.u64 %0, [%1];"
                     : "=l"(word) : "l"(from) : "memory");
    } while (word >> 32 != epoch);
    return static_cast<u32>(word);
}
// ANCHOR_END: word

template <typename T> __device__ u64* words_of(const Arrays<T>& a, u32 rank) {
    return reinterpret_cast<u64*>(a.stage.of[rank]);
}

template <class Op, typename T>
__device__ void low_latency(const Arrays<T>& a, Call call, u64 n) {
    using P = Pack4<T>;
    u64 words = 2 * u64(call.slot); // of eight bytes, in a slot
    u64 at = 2 * half(call);
    u64 stride = u64(gridDim.x) * blockDim.x;
    u64 first = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    for (u64 i = first; i * P::COUNT < n; i += stride) {
        P own = load<P>(a.in.of[call.rank], i, n);
        u32 data = reinterpret_cast<u32&>(own);
        for (u32 k = 1; k < call.ranks; k++) {
            u32 peer = (call.rank + k) % call.ranks;
            u64* slot = words_of(a, peer) + at + u64(call.rank) * words;
            send(slot + i, data, epoch(call));
        }
        const u64* arrived = words_of(a, call.rank) + at + i;
        P sum = in_order<Op, P>(call.ranks, [&](u32 r) {
            if (r == call.rank) return own;
            u32 got = receive(arrived + u64(r) * words, epoch(call));
            return reinterpret_cast<P&>(got);
        });
        store(a.out.of[call.rank], i, n, sum);
    }
}
// ANCHOR_END: low_latency

// ---- wrong ----

// ANCHOR: device_scope
// WRONG: flags in the scope of one device (__threadfence(), .gpu). They order
// nothing for the threads of another.
__device__ void meet_narrowly(const Peers<u64>& flags, Call call, u64 step) {
    __syncthreads();
    u32 peer = threadIdx.x;
    if (peer < call.ranks) {
        asm volatile("st.release.gpu.global.u64 [%0], %1;"
                     :: "l"(flag(flags, peer, call.rank)), "l"(step)
                     : "memory");
        u64 value;
        do {
            asm volatile("ld.acquire.gpu.global.u64 %0, [%1];"
                         : "=l"(value)
                         : "l"(flag(flags, call.rank, peer)) : "memory");
        } while (value < step);
    }
    __syncthreads();
}
// ANCHOR_END: device_scope

// ANCHOR: reused
// WRONG: a flag without the call's number. From the second call on it is set
// before its peer has come.
__device__ void meet_once(const Peers<u64>& flags, Call call, u64) {
    meet(flags, call, 1);
}
// ANCHOR_END: reused

template <typename Meet>
__device__ void one_shot_meeting(const Arrays<float>& a, Call call, u64 at, u64 n, Meet meeting) {
    using P = Pack16<float>;
    Part all = all_of<P>(n);
    P* own = a.stage.of[call.rank] + at;
    all.each([&](u64 i) { own[i] = load<P>(a.in.of[call.rank], i, n); });
    meeting(a.flags, call, first_step(call));
    all.each([&](u64 i) {
        P sum = in_order<Sum, P>(call.ranks, [&](u32 r) {
            return a.stage.of[r][at + i];
        });
        store(a.out.of[call.rank], i, n, sum);
    });
}

// ANCHOR: arrival
// WRONG: the array that comes first is added first. Each rank adds in an
// order of its own, and has last digits of its own, others the next time.
__device__ void by_arrival(const Arrays<float>& a, Call call, u64 n) {
    using P = Pack16<float>;
    __shared__ u32 order[MAX_RANKS];
    u64 at = half(call);
    Part all = all_of<P>(n);
    P* own = a.stage.of[call.rank] + at;
    all.each([&](u64 i) { own[i] = load<P>(a.in.of[call.rank], i, n); });
    __syncthreads();
    if (threadIdx.x == 0) {
        u64 step = first_step(call);
        for (u32 r = 0; r < call.ranks; r++) {
            set(flag(a.flags, r, call.rank), step);
        }
        u32 missing = (1u << call.ranks) - 1;
        for (u32 come = 0; missing != 0;) {
            for (u32 r = 0; r < call.ranks; r++) {
                if ((missing >> r & 1) == 0) continue;
                if (look(flag(a.flags, call.rank, r)) < step) continue;
                order[come++] = r;
                missing &= ~(1u << r);
            }
        }
    }
    __syncthreads();
    all.each([&](u64 i) {
        P sum = a.stage.of[order[0]][at + i];
        for (u32 k = 1; k < call.ranks; k++) {
            P next = a.stage.of[order[k]][at + i];
            for (u32 e = 0; e < P::COUNT; e++) sum.x[e] += next.x[e];
        }
        store(a.out.of[call.rank], i, n, sum);
    });
}
// ANCHOR_END: arrival

// ---- kernels ----

constexpr u32 BLOCK_MAX = 512; // threads, so that every block finds registers
#define KERNEL(NAME, T)                                                                                  \
    extern "C" __global__ void __launch_bounds__(BLOCK_MAX)                                              \
        NAME##_##T(const __grid_constant__ Arrays<T##_t> a, u32 rank, u32 ranks, u32 slot,               \
                   u32 half_packs, u32 blocks_max, u64 n)
#define CALL (Call{rank, ranks, count(a.calls, blocks_max), slot, half_packs})
#define ALGORITHM(NAME, T)                                                    \
    KERNEL(NAME, T) { if (n > 0) NAME<Sum>(a, CALL, n); }                     \
    KERNEL(NAME##_maximum, T) { if (n > 0) NAME<Maximum>(a, CALL, n); }
#define OF_TYPE(T)                \
    ALGORITHM(one_shot_pull, T)   \
    ALGORITHM(one_shot_push, T)   \
    ALGORITHM(two_shot_push, T)   \
    ALGORITHM(two_shot_direct, T) \
    ALGORITHM(low_latency, T)

using f32_t = float;
using bf16_t = bf16;
OF_TYPE(f32)
OF_TYPE(bf16)

// The wrong ones, which add floats.
KERNEL(device_scope, f32) {
    Call call = CALL;
    one_shot_meeting(a, call, half(call), n, meet_narrowly);
}
KERNEL(reused, f32) {
    Call call = CALL;
    one_shot_meeting(a, call, half(call), n, meet_once);
}
// ANCHOR: overwritten
// WRONG: one half for all calls. A rank that is ahead leaves its next array
// while a peer still reads the last one.
KERNEL(overwritten, f32) { one_shot_meeting(a, CALL, 0, n, meet); }
// ANCHOR_END: overwritten
KERNEL(arrival, f32) { by_arrival(a, CALL, n); }
