// Chapter 5: unroll the last warp.
//
// Idea.   Once 64 partial sums are left, one warp does the rest of the tree. A warp
//         needs no block-wide barrier to agree with itself, so the last six rounds can
//         drop __syncthreads() and the loop around it.
// Limit.  "Needs no barrier" is not "needs nothing": since Volta the lanes of a warp
//         may run apart, and a round that reads what another lane wrote must say so,
//         with __syncwarp() or with a shuffle.
// Worked. A block of 256 threads that loads two elements each has 8 rounds and, with
//         one barrier after the load, 9 barriers. The unrolled kernels keep the rounds
//         s = 128 and 64: 3 barriers.

constexpr unsigned int MAX_BLOCK = 1024; // most threads of a block, on every card so far

// ANCHOR: load
// Two elements a thread, the first addition on the way in. Both loads are guarded: n is
// any number.
template <typename T>
__device__ T load_two(const T* in, unsigned int n) {
    unsigned int i = blockIdx.x * (blockDim.x * 2) + threadIdx.x;
    T sum = i < n ? in[i] : T(0);
    if (i + blockDim.x < n) {
        sum += in[i + blockDim.x];
    }
    return sum;
}
// ANCHOR_END: load

// ANCHOR: tree
// The rounds that need the whole block: from blockDim.x partial sums down to 64.
template <typename T>
__device__ void reduce_to_64(T* sums) {
    unsigned int tid = threadIdx.x;
    for (unsigned int s = blockDim.x / 2; s > 32; s /= 2) {
        if (tid < s) {
            sums[tid] += sums[tid + s];
        }
        __syncthreads();
    }
}
// ANCHOR_END: tree

// ANCHOR: volatile
// WRONG since Volta. volatile makes every access real; it orders nothing between lanes.
// In each line a lane reads a sum that another lane wrote in the line before, and
// nothing makes it wait for that write.
template <typename T>
__device__ void last_warp_volatile(volatile T* sums, unsigned int tid) {
    sums[tid] += sums[tid + 32];
    sums[tid] += sums[tid + 16];
    sums[tid] += sums[tid + 8];
    sums[tid] += sums[tid + 4];
    sums[tid] += sums[tid + 2];
    sums[tid] += sums[tid + 1];
}
// ANCHOR_END: volatile

// ANCHOR: syncwarp
// The same rounds, each access ordered: all lanes read, then all lanes write, then all
// lanes read again.
template <typename T>
__device__ void last_warp_syncwarp(T* sums, unsigned int tid) {
    T sum = sums[tid];
    sum += sums[tid + 32]; __syncwarp();
    sums[tid] = sum;       __syncwarp();
    sum += sums[tid + 16]; __syncwarp();
    sums[tid] = sum;       __syncwarp();
    sum += sums[tid + 8];  __syncwarp();
    sums[tid] = sum;       __syncwarp();
    sum += sums[tid + 4];  __syncwarp();
    sums[tid] = sum;       __syncwarp();
    sum += sums[tid + 2];  __syncwarp();
    sums[tid] = sum;       __syncwarp();
    sum += sums[tid + 1];  __syncwarp();
    sums[tid] = sum;
}
// ANCHOR_END: syncwarp

// ANCHOR: shuffle
// The same rounds without memory: each lane hands its sum, register to register, to the
// lane `offset` below it.
template <typename T>
__device__ T last_warp_shuffle(const T* sums, unsigned int tid) {
    T sum = sums[tid] + sums[tid + 32];
    for (unsigned int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(0xffffffff, sum, offset);
    }
    return sum;
}
// ANCHOR_END: shuffle

// ANCHOR: kernels
// Blocks are a power of two from 64 to 1024; out gets one sum a block.
template <typename T>
__device__ void unroll_volatile(const T* in, T* out, unsigned int n) {
    __shared__ T sums[MAX_BLOCK];
    unsigned int tid = threadIdx.x;
    sums[tid] = load_two(in, n);
    __syncthreads();
    reduce_to_64(sums);
    if (tid < 32) last_warp_volatile(sums, tid);
    if (tid == 0) out[blockIdx.x] = sums[0];
}

template <typename T>
__device__ void unroll_syncwarp(const T* in, T* out, unsigned int n) {
    __shared__ T sums[MAX_BLOCK];
    unsigned int tid = threadIdx.x;
    sums[tid] = load_two(in, n);
    __syncthreads();
    reduce_to_64(sums);
    if (tid < 32) last_warp_syncwarp(sums, tid);
    if (tid == 0) out[blockIdx.x] = sums[0];
}

template <typename T>
__device__ void unroll_shuffle(const T* in, T* out, unsigned int n) {
    __shared__ T sums[MAX_BLOCK];
    unsigned int tid = threadIdx.x;
    sums[tid] = load_two(in, n);
    __syncthreads();
    reduce_to_64(sums);
    if (tid < 32) {
        T sum = last_warp_shuffle(sums, tid);
        if (tid == 0) out[blockIdx.x] = sum;
    }
}
// ANCHOR_END: kernels

// ANCHOR: entries
// C names, so that a host program finds each instance by the name the reader sees. An array
// of int is summed as unsigned int: the same 32 bits, and unsigned addition wraps where
// that of int would be undefined.
extern "C" __global__ void unroll_volatile_i32(
    const unsigned int* in, unsigned int* out, unsigned int n) {
    unroll_volatile(in, out, n);
}
extern "C" __global__ void unroll_volatile_f32(const float* in, float* out, unsigned int n) {
    unroll_volatile(in, out, n);
}
extern "C" __global__ void unroll_syncwarp_i32(
    const unsigned int* in, unsigned int* out, unsigned int n) {
    unroll_syncwarp(in, out, n);
}
extern "C" __global__ void unroll_syncwarp_f32(const float* in, float* out, unsigned int n) {
    unroll_syncwarp(in, out, n);
}
extern "C" __global__ void unroll_shuffle_i32(
    const unsigned int* in, unsigned int* out, unsigned int n) {
    unroll_shuffle(in, out, n);
}
extern "C" __global__ void unroll_shuffle_f32(const float* in, float* out, unsigned int n) {
    unroll_shuffle(in, out, n);
}
// ANCHOR_END: entries
