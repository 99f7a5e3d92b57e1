// Chapter 1: the naive sums.
//
// Idea.   Add in pairs: n numbers are one number after log2(n) rounds, and the
//         additions of a round do not depend on each other, so each can have a thread
//         of its own. A block sums its own slice; the partial sums are the next
//         launch's input, until one value is left.
// Limit.  The threads that still have work are spread thinly over all warps. A warp
//         issues an instruction for 32 lanes whether one lane needs it or all of them.
// Worked. simple_global on 256 numbers, one block of 128 threads: 255 additions take 27
//         warp-instructions (4 warps in each of the first six rounds, then 2, then 1),
//         so 255 of 27 * 32 = 864 lanes do useful work: 29.5 %.

constexpr unsigned int MAX_BLOCK = 1024; // most threads of a block, on every card so far

// ANCHOR: interleaved_modulo
// One element a thread, in shared memory. Blocks are a power of two; out gets one sum a
// block.
template <typename T>
__device__ void interleaved_modulo(const T* in, T* out, unsigned int n) {
    __shared__ T sums[MAX_BLOCK];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + tid;

    sums[tid] = i < n ? in[i] : T(0);
    __syncthreads();

    // ANCHOR: interleaved_modulo_loop
    for (unsigned int s = 1; s < blockDim.x; s *= 2) {
        if (tid % (2 * s) == 0) {
            sums[tid] += sums[tid + s];
        }
        __syncthreads(); // outside the if: every thread of the block must reach it
    }
    // ANCHOR_END: interleaved_modulo_loop

    if (tid == 0) {
        out[blockIdx.x] = sums[0];
    }
}
// ANCHOR_END: interleaved_modulo

// ANCHOR: simple_global
// Two elements a thread, summed in place in global memory: data is destroyed. Blocks
// are a power of two.
template <typename T>
__device__ void simple_global(T* data, T* out, unsigned int n) {
    unsigned int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);

    // ANCHOR: simple_global_loop
    // <= and not <: in the last round the two halves of the block meet.
    for (unsigned int stride = 1; stride <= blockDim.x; stride *= 2) {
        if (threadIdx.x % stride == 0 && i + stride < n) {
            data[i] += data[i + stride];
        }
        __syncthreads();
    }
    // ANCHOR_END: simple_global_loop

    if (threadIdx.x == 0) {
        out[blockIdx.x] = data[i];
    }
}
// ANCHOR_END: simple_global

// ANCHOR: entries
// ANCHOR: entry
// C names, so that a host program finds each instance by the name the reader sees. An array
// of int is summed as unsigned int: the same 32 bits, and unsigned addition wraps where
// that of int would be undefined.
extern "C" __global__ void interleaved_modulo_i32(
    const unsigned int* in, unsigned int* out, unsigned int n) {
    interleaved_modulo(in, out, n);
}
// ANCHOR_END: entry
extern "C" __global__ void interleaved_modulo_f32(const float* in, float* out, unsigned int n) {
    interleaved_modulo(in, out, n);
}
extern "C" __global__ void simple_global_i32(
    unsigned int* data, unsigned int* out, unsigned int n) {
    simple_global(data, out, n);
}
extern "C" __global__ void simple_global_f32(float* data, float* out, unsigned int n) {
    simple_global(data, out, n);
}
// ANCHOR_END: entries
