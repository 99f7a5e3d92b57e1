// How long one step takes when the next one waits for it.
//
// Idea.   One thread, or one warp, makes a chain of steps, each of which needs what the one
//         before gave. The clock of the multiprocessor is read before and after, and the
//         time divided by the steps.
// Limit.  A latency says nothing about how much can be on its way at once: a kernel that
//         keeps enough of it in flight does not feel it.
// Worked. 4,096 shuffles that take 98,304 cycles take 24 each. At 1.98 GHz that is 12.1 ns.

constexpr unsigned int LINE_WORDS = 32; // a cache line of 128 bytes
constexpr unsigned int SHARED_WORDS = 1024;
constexpr unsigned int FULL = 0xffffffff;

// ANCHOR: chain
// Leaves the cycles, the nanoseconds of the card's slower timer, and the last value, so
// that the compiler must keep the chain.
template <typename Step>
__device__ void chain(unsigned int steps, unsigned int value, long long* out, Step step) {
    for (unsigned int i = 0; i < 32; i++) value = step(value); // instructions and lines are there
    long long ns, end_ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns) :: "memory");
    long long begin = clock64();
#pragma unroll 8
    for (unsigned int i = 0; i < steps; i++) value = step(value);
    long long end = clock64();
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(end_ns) :: "memory");
    if (threadIdx.x == 0) {
        out[0] = end - begin;
        out[1] = end_ns - ns;
        out[2] = value;
    }
}
// ANCHOR_END: chain

// The next word of a ring in shared memory is where the last one points to.
extern "C" __global__ void shared_load(unsigned int* words, unsigned int steps, long long* out) {
    __shared__ unsigned int ring[SHARED_WORDS];
    for (unsigned int i = threadIdx.x; i < SHARED_WORDS; i += blockDim.x) ring[i] = (i + 33) % SHARED_WORDS;
    __syncthreads();
    chain(steps, 0, out, [&](unsigned int at) { return *(volatile unsigned int*)(ring + at); });
}

extern "C" __global__ void shuffle(unsigned int* words, unsigned int steps, long long* out) {
    chain(steps, threadIdx.x, out, [](unsigned int value) { return __shfl_xor_sync(FULL, value, 1); });
}

// The addition between two shuffles belongs to a step of a tree.
extern "C" __global__ void shuffle_and_add(unsigned int* words, unsigned int steps, long long* out) {
    chain(steps, threadIdx.x, out, [](unsigned int value) { return value + __shfl_xor_sync(FULL, value, 1); });
}

// From compute capability 8.0 on: of a warp's 32-bit integers the sum, as here, the least,
// the greatest, and, or, xor.
extern "C" __global__ void redux_add(unsigned int* words, unsigned int steps, long long* out) {
    chain(steps, threadIdx.x, out, [](unsigned int value) { return __reduce_add_sync(FULL, value); });
}

extern "C" __global__ void barrier_of_block(unsigned int* words, unsigned int steps, long long* out) {
    chain(steps, 0, out, [](unsigned int value) {
        __syncthreads();
        return value + 1;
    });
}

// A fence has something to wait for: a store of the same thread, as where a message is sent.
extern "C" __global__ void store_and_fence_sc(unsigned int* words, unsigned int steps, long long* out) {
    chain(steps, 0, out, [=](unsigned int value) {
        asm volatile("st.relaxed.gpu.global.u32 [%0], %1; fence.sc.gpu;" :: "l"(words), "r"(value) : "memory");
        return value + 1;
    });
}
extern "C" __global__ void store_and_fence_acq_rel(unsigned int* words, unsigned int steps, long long* out) {
    chain(steps, 0, out, [=](unsigned int value) {
        asm volatile("st.relaxed.gpu.global.u32 [%0], %1; fence.acq_rel.gpu;" :: "l"(words), "r"(value) : "memory");
        return value + 1;
    });
}
extern "C" __global__ void fence_sc(unsigned int* words, unsigned int steps, long long* out) {
    chain(steps, 0, out, [](unsigned int value) {
        asm volatile("fence.sc.gpu;" ::: "memory");
        return value + 1;
    });
}
extern "C" __global__ void fence_acq_rel(unsigned int* words, unsigned int steps, long long* out) {
    chain(steps, 0, out, [](unsigned int value) {
        asm volatile("fence.acq_rel.gpu;" ::: "memory");
        return value + 1;
    });
}

// What an atomic returns is what the next one adds.
extern "C" __global__ void shared_atomic(unsigned int* words, unsigned int steps, long long* out) {
    __shared__ unsigned int word;
    if (threadIdx.x == 0) word = 1;
    __syncthreads();
    chain(steps, 0, out, [&](unsigned int value) { return atomicAdd(&word, value & 1); });
}
extern "C" __global__ void global_atomic(unsigned int* words, unsigned int steps, long long* out) {
    chain(steps, 0, out, [=](unsigned int value) { return atomicAdd(words, value & 1); });
}

// ANCHOR: chase
// Every line holds the number of the next one. Loads that pass the L1 by: of a ring that the
// L2 holds, and of one that is larger than it by far and whose lines are read once.
extern "C" __global__ void chase(unsigned int* words, unsigned int steps, long long* out) {
    chain(steps, 0, out, [=](unsigned int line) {
        return __ldcg(words + static_cast<unsigned long long>(line) * LINE_WORDS);
    });
}
// The same through the L1.
extern "C" __global__ void chase_l1(unsigned int* words, unsigned int steps, long long* out) {
    chain(steps, 0, out, [=](unsigned int line) {
        return __ldca(words + static_cast<unsigned long long>(line) * LINE_WORDS);
    });
}
// ANCHOR_END: chase

// An empty kernel that may begin before the one before it has ended, and lets the next one.
extern "C" __global__ void nothing_overlapped() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
