// Chapter 2: the same additions by neighbouring threads.
//
// Idea.   A round of the tree needs so many additions; which threads make them is free
//         to choose. Threads that stand side by side fill a warp: full warps work, and
//         empty warps have nothing to issue.
// Limit.  In shared memory the neighbours now reach for words that are 2s apart: bank
//         conflicts. In global memory every round goes out to memory. Chapter 3 needs
//         neither.
// Worked. 256 numbers. Spread over the threads, 255 additions take 47 warp-instructions,
//         and all 47 are partly filled: 255 of 47 * 32 = 1504 lanes, 17.0 %. By
//         neighbouring threads they take 4 + 2 + 1 + 1 + 1 + 1 + 1 + 1 = 12, of which 5
//         are partly filled: 255 of 12 * 32 = 384 lanes, 66.4 %.

constexpr unsigned int MAX_BLOCK = 1024; // most threads of a block, on every card so far

// ANCHOR: load
// One element a thread; a thread without one brings 0, which changes no sum. (That of
// nothing but -0.0 becomes 0.0, which is equal.)
template <typename T>
__device__ T load_one(const T* in, unsigned int n) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    return i < n ? in[i] : T(0);
}
// ANCHOR_END: load

// ANCHOR: bitmask
// NO CURE: the mask is the modulo in other words. The same threads add, so the same warps
// are nearly empty. It is faster all the same, because a modulo by a number that the
// compiler does not know takes many instructions and a mask takes one. Here and below blocks are a power of two, and out gets one sum
// a block.
template <typename T>
__device__ void bitmask(const T* in, T* out, unsigned int n) {
    __shared__ T sums[MAX_BLOCK];
    unsigned int tid = threadIdx.x;
    sums[tid] = load_one(in, n);
    __syncthreads();

    // ANCHOR: bitmask_loop
    for (unsigned int s = 1; s < blockDim.x; s *= 2) {
        if ((tid & (2 * s - 1)) == 0) {
            sums[tid] += sums[tid + s];
        }
        __syncthreads();
    }
    // ANCHOR_END: bitmask_loop

    if (tid == 0) {
        out[blockIdx.x] = sums[0];
    }
}
// ANCHOR_END: bitmask

// ANCHOR: strided_index
// Thread tid makes the addition at 2 * s * tid: the same pairs of numbers, by threads 0,
// 1, 2, ...
template <typename T>
__device__ void strided_index(const T* in, T* out, unsigned int n) {
    __shared__ T sums[MAX_BLOCK];
    unsigned int tid = threadIdx.x;
    sums[tid] = load_one(in, n);
    __syncthreads();

    // ANCHOR: strided_index_loop
    for (unsigned int s = 1; s < blockDim.x; s *= 2) {
        unsigned int index = 2 * s * tid; // at most 2 * 512 * 1023, far from 2^32
        if (index < blockDim.x) {
            sums[index] += sums[index + s];
        }
        __syncthreads();
    }
    // ANCHOR_END: strided_index_loop

    if (tid == 0) {
        out[blockIdx.x] = sums[0];
    }
}
// ANCHOR_END: strided_index

// ANCHOR: convergent_global
// Two elements a thread, summed in place in global memory: data is destroyed. The pairs
// are not neighbours, so the operation must be commutative as well as associative.
template <typename T>
__device__ void convergent_global(T* data, T* out, unsigned int n) {
    unsigned int start = blockIdx.x * (blockDim.x * 2);
    unsigned int i = start + threadIdx.x;

    // ANCHOR: convergent_global_loop
    for (unsigned int stride = blockDim.x; stride > 0; stride /= 2) {
        if (threadIdx.x < stride && i + stride < n) { // past the end nothing to add
            data[i] += data[i + stride];
        }
        __syncthreads();
    }
    // ANCHOR_END: convergent_global_loop

    if (threadIdx.x == 0) {
        out[blockIdx.x] = data[start];
    }
}
// ANCHOR_END: convergent_global

// ANCHOR: entries
// C names, so that a host program finds each instance by the name the reader sees. An array
// of int is summed as unsigned int: the same 32 bits, and unsigned addition wraps where
// that of int would be undefined.
extern "C" __global__ void bitmask_i32(const unsigned int* in, unsigned int* out, unsigned int n) {
    bitmask(in, out, n);
}
extern "C" __global__ void bitmask_f32(const float* in, float* out, unsigned int n) {
    bitmask(in, out, n);
}
extern "C" __global__ void strided_index_i32(
    const unsigned int* in, unsigned int* out, unsigned int n) {
    strided_index(in, out, n);
}
extern "C" __global__ void strided_index_f32(const float* in, float* out, unsigned int n) {
    strided_index(in, out, n);
}
extern "C" __global__ void convergent_global_i32(
    unsigned int* data, unsigned int* out, unsigned int n) {
    convergent_global(data, out, n);
}
extern "C" __global__ void convergent_global_f32(float* data, float* out, unsigned int n) {
    convergent_global(data, out, n);
}
// ANCHOR_END: entries
