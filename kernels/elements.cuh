// Chapters 9 to 13: elements in memory, and what kernels compute with.

#pragma once

// ANCHOR: halves
// Halves, f16 and bf16, are widened to floats, which loses no bit. bf16 is
// the upper half of a float.
struct f16 { unsigned short bits; };
struct bf16 { unsigned short bits; };
__device__ float widen(float x) { return x; }
__device__ double widen(double x) { return x; }
__device__ float widen(bf16 x) { return __uint_as_float(x.bits << 16); }
__device__ float widen(f16 x) {
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
    return wide;
}
// ANCHOR_END: halves

// 16 bytes of input that are read only once, so not worth a place in L1.
template <typename T> __device__ uint4 load_once(const T* address) {
    uint4 v;
    asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(address));
    return v;
}

// Rounds to the nearest.
__device__ void narrow(float x, float& out) { out = x; }
__device__ void narrow(float x, bf16& out) {
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(out.bits) : "f"(x));
}
// From 65,520 on, an f16 is infinite.
__device__ void narrow(float x, f16& out) {
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(out.bits) : "f"(x));
}

// W elements that a lane takes at once: 16 bytes as memory has them, where a
// word has two bf16 or two f16, or one element as a float.
template <typename T>
constexpr unsigned int PER_VECTOR = sizeof(uint4) / sizeof(T);
template <unsigned int W> struct Piece { unsigned int words[W > 1 ? 4 : 1]; };
template <typename T>
__device__ void widen(T, unsigned int word, float (&x)[1]) {
    x[0] = __uint_as_float(word);
}
__device__ void widen(bf16, unsigned int word, float (&x)[2]) {
    x[0] = __uint_as_float(word << 16),
    x[1] = __uint_as_float(word & 0xffff0000);
}
__device__ void widen(f16, unsigned int word, float (&x)[2]) {
    f16 low, high;
    asm("mov.b32 {%0, %1}, %2;"
        : "=h"(low.bits), "=h"(high.bits)
        : "r"(word));
    x[0] = widen(low), x[1] = widen(high);
}
template <typename T>
__device__ unsigned int narrowed(T, const float (&x)[1]) {
    return __float_as_uint(x[0]);
}
__device__ unsigned int narrowed(bf16, const float (&x)[2]) {
    unsigned int word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(x[1]), "f"(x[0]));
    return word;
}
__device__ unsigned int narrowed(f16, const float (&x)[2]) {
    unsigned int word;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(x[1]), "f"(x[0]));
    return word;
}

// 16 bytes of input, read once and by nobody else. Not worth a place in L1,
// but where rows are written too, loads without one are slower.
__device__ uint4 load_vector(const void* address) {
    uint4 v;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(address));
    return v;
}
// ANCHOR: policy
// A policy of the L2: it keeps what is read longest, so that results are
// written back sooner, which memory likes. But what it keeps stays when the
// kernel has ended, so this is for rows that are more than an L2 holds.
__device__ unsigned long long kept_longest() {
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}
// ANCHOR_END: policy
// The ways to load a vector. Large: by that policy. Kept: other rows read it
// too.
struct Once {
    __device__ uint4 load(const void* address) const {
        return load_vector(address);
    }
};
struct AsLarge {
    __device__ uint4 load(const void* address) const {
        uint4 v;
        asm volatile(
            "ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
            : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
            : "l"(address), "l"(kept_longest()));
        return v;
    }
};
struct Kept {
    __device__ uint4 load(const void* address) const {
        return __ldg(static_cast<const uint4*>(address));
    }
};
// Where a thread's vectors go in shared memory. Of an address with a uniform
// part and a policy, ptxas 13.0 makes an instruction that no GPU has; what a
// shuffle gives it does not take apart.
template <bool LARGE>
__device__ unsigned int shared_address(const void* address) {
    unsigned int shared =
        static_cast<unsigned int>(__cvta_generic_to_shared(address));
    return LARGE ? __shfl_sync(0xffffffff, shared, threadIdx.x % 32) : shared;
}
// 16 bytes on their way there.
template <bool LARGE>
__device__ void copy_async(unsigned int to, const void* from) {
    if constexpr (LARGE)
        asm volatile("cp.async.ca.shared.global.L2::cache_hint [%0], [%1], "
                     "16, %2;" ::"r"(to), "l"(from), "l"(kept_longest())
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(to),
                     "l"(from)
                     : "memory");
}
// Blocks of so many threads, each with so many vectors in shared memory, that
// a multiprocessor has room for.
__device__ constexpr unsigned int room_for(unsigned int threads,
                                           unsigned int vectors) {
    unsigned int most = 2048 / threads;
    unsigned int blocks =
        (227u << 10) / (threads * vectors * 16 + (2u << 10));
    return blocks > most ? most : blocks > 0 ? blocks : 1;
}
// A piece of which `left` elements are there, but for the first `before`, in
// one go if it is whole and at a multiple of its size. It is widened later,
// when all that a thread reads is on its way: a load waits for nothing that
// was read before it.
template <unsigned int W, typename T, class How = Once>
__device__ void load(Piece<W>& piece, const T* from, unsigned int left,
                     bool aligned, float missing = 0,
                     unsigned int before = 0, How how = {}) {
    constexpr unsigned int WORDS = W > 1 ? 4 : 1, PER_WORD = W / WORDS;
    if constexpr (W > 1) {
        if (aligned && left >= W && before == 0) {
            uint4 v = how.load(from);
            piece = {{v.x, v.y, v.z, v.w}};
            return;
        }
    }
    float wide[WORDS][PER_WORD];
    for (unsigned int w = 0; w < W; w++)
        wide[w / PER_WORD][w % PER_WORD] =
            w < left && w >= before ? widen(from[w]) : missing;
    for (unsigned int k = 0; k < WORDS; k++)
        piece.words[k] = narrowed(T(), wide[k]);
}
template <typename T, unsigned int W>
__device__ void widen(T, Piece<W> piece, float (&x)[W]) {
    constexpr unsigned int WORDS = W > 1 ? 4 : 1, PER_WORD = W / WORDS;
    float wide[WORDS][PER_WORD];
    for (unsigned int k = 0; k < WORDS; k++)
        widen(T(), piece.words[k], wide[k]);
    for (unsigned int w = 0; w < W; w++)
        x[w] = wide[w / PER_WORD][w % PER_WORD];
}
template <typename T, unsigned int W>
__device__ uint4 narrowed_vector(T, const float (&x)[W]) {
    constexpr unsigned int WORDS = 4, PER_WORD = PER_VECTOR<T> / WORDS;
    float wide[WORDS][PER_WORD];
    for (unsigned int w = 0; w < PER_VECTOR<T>; w++)
        wide[w / PER_WORD][w % PER_WORD] = x[w];
    return {narrowed(T(), wide[0]), narrowed(T(), wide[1]),
            narrowed(T(), wide[2]), narrowed(T(), wide[3])};
}
template <unsigned int W, typename T>
__device__ void store(T* to, const float (&x)[W], unsigned int left,
                      bool aligned, unsigned int before = 0) {
    if constexpr (W > 1) {
        if (aligned && left >= W && before == 0) {
            *reinterpret_cast<uint4*>(to) = narrowed_vector(T(), x);
            return;
        }
    }
    for (unsigned int w = 0; w < W; w++) {
        if (w < left && w >= before) narrow(x[w], to[w]);
    }
}
