// Chapter 7: coarsening.
//
// Idea.   The tree of a block costs the same whatever it sums. So a thread sums many
//         elements by itself first, in a register, and joins a tree only then. The
//         number of blocks becomes a choice: as many as the card holds at a time, each
//         of them taking its share of the array in strides of the whole grid.
// Limit.  The blocks' sums have to be added too. An atomic addition a block does it in
//         an order that nobody knows, and a second launch does it after all of the
//         first has ended.
// Worked. 4,194,304 elements, blocks of 256 threads. With two elements a thread there
//         are 8,192 blocks, and as many trees. 132 multiprocessors that hold 8 blocks
//         each have 1,056 blocks: 7.76 times fewer trees, 15.5 elements a thread.

constexpr unsigned int MAX_BLOCK = 1024; // most threads of a block, on every card yet

// Chapter 4's tree: blockDim.x sums to one, which thread 0 may read without a barrier.
template <typename T>
__device__ void tree(T* sums) {
    unsigned int tid = threadIdx.x;
    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) {
            sums[tid] += sums[tid + s];
        }
        __syncthreads();
    }
}

// ANCHOR: segmented_atomic
// One segment of two elements a thread for each block, and one atomic addition a block
// onto a sum that the launch before has cleared. Blocks are a power of two. The atomic
// addition of float, unlike any other here, takes subnormal numbers for zeros.
template <typename T>
__device__ void segmented_atomic(const T* in, T* out, unsigned int n) {
    __shared__ T sums[MAX_BLOCK];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (blockDim.x * 2) + tid;

    T sum = i < n ? in[i] : T(0);
    if (i + blockDim.x < n) {
        sum += in[i + blockDim.x];
    }
    sums[tid] = sum;
    __syncthreads();
    tree(sums);

    if (tid == 0) {
        atomicAdd(out, sums[0]);
    }
}
// ANCHOR_END: segmented_atomic

// ANCHOR: coarsened
// The same with 2 * COARSE_FACTOR elements a thread: blockDim.x apart, so that a warp
// still reads neighbours. Only the last segment can be short, and only it is tested.
template <unsigned int COARSE_FACTOR, typename T>
__device__ void coarsened(const T* in, T* out, unsigned int n) {
    __shared__ T sums[MAX_BLOCK];
    unsigned int tid = threadIdx.x;
    unsigned int segment = blockIdx.x * (blockDim.x * 2 * COARSE_FACTOR);

    T sum = T(0);
    if (segment + blockDim.x * 2 * COARSE_FACTOR <= n) {
        for (unsigned int tile = 0; tile < 2 * COARSE_FACTOR; tile++) {
            sum += in[segment + tile * blockDim.x + tid];
        }
    } else {
        for (unsigned int i = segment + tid; i < n; i += blockDim.x) {
            sum += in[i];
        }
    }
    sums[tid] = sum;
    __syncthreads();
    tree(sums);

    if (tid == 0) {
        atomicAdd(out, sums[0]);
    }
}
// ANCHOR_END: coarsened

// What a reduction computes: how two values become one, and what changes no value, but for
// the sign of -0.0. min and max pass a NaN over, so that NaN is their identity for floats.
struct Sum {
    template <typename T> static __device__ T join(T a, T b) { return a + b; }
    template <typename T> static __device__ T identity(T) { return T(0); }
};
struct Min {
    template <typename T> static __device__ T join(T a, T b) { return min(a, b); }
    static __device__ int identity(int) { return 0x7fffffff; }
    static __device__ float identity(float) { return __int_as_float(0x7fffffff); }
    static __device__ double identity(double) { return __int_as_float(0x7fffffff); }
};
struct Max {
    template <typename T> static __device__ T join(T a, T b) { return max(a, b); }
    static __device__ int identity(int) { return -0x7fffffff - 1; }
    static __device__ float identity(float) { return __int_as_float(0x7fffffff); }
    static __device__ double identity(double) { return __int_as_float(0x7fffffff); }
};

// Chapter 5's: from blockDim.x sums to 64 by the block, the last 64 by warp 0 alone.
template <typename Op, typename T>
__device__ void reduce_to_64(T* sums) {
    unsigned int tid = threadIdx.x;
    for (unsigned int s = blockDim.x / 2; s > 32; s /= 2) {
        if (tid < s) {
            sums[tid] = Op::join(sums[tid], sums[tid + s]);
        }
        __syncthreads();
    }
}

// In memory: all lanes read, then all lanes write.
template <typename T>
__device__ void last_warp_syncwarp(T* sums, unsigned int tid) {
    T sum = sums[tid];
    for (unsigned int offset = 32; offset > 0; offset /= 2) {
        sum += sums[tid + offset]; __syncwarp();
        sums[tid] = sum;           __syncwarp();
    }
}

// From register to register.
template <typename Op, typename T>
__device__ T last_warp_shuffle(const T* sums, unsigned int tid) {
    T sum = Op::join(sums[tid], sums[tid + 32]);
    for (unsigned int offset = 16; offset > 0; offset /= 2) {
        sum = Op::join(sum, __shfl_down_sync(0xffffffff, sum, offset));
    }
    return sum;
}

// ANCHOR: multi_add
// NUM_PER_BLOCK consecutive elements a block, whatever n and the block size are. Blocks
// are a power of two from 64 on, here and below; out gets one sum a block.
template <unsigned int NUM_PER_BLOCK, typename T>
__device__ void multi_add(const T* in, T* out, unsigned int n) {
    __shared__ T sums[MAX_BLOCK];
    unsigned int tid = threadIdx.x;
    unsigned int begin = blockIdx.x * NUM_PER_BLOCK;
    unsigned int end = min(begin + NUM_PER_BLOCK, n);

    sums[tid] = T(0);
    for (unsigned int i = begin + tid; i < end; i += blockDim.x) {
        sums[tid] += in[i];
    }
    __syncthreads();

    reduce_to_64<Sum>(sums);
    if (tid < 32) last_warp_syncwarp(sums, tid);
    if (tid == 0) out[blockIdx.x] = sums[0];
}
// ANCHOR_END: multi_add

// ANCHOR: grid_stride
// Any number of blocks: in each step the grid as a whole takes the next grid_size
// elements, and a block two for each of its threads. Both loads are tested.
template <typename T>
__device__ void grid_stride(const T* in, T* out, unsigned int n) {
    __shared__ T sums[MAX_BLOCK];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (blockDim.x * 2) + tid;
    unsigned int grid_size = blockDim.x * 2 * gridDim.x;

    sums[tid] = T(0);
    while (i < n) {
        sums[tid] += in[i];
        if (i + blockDim.x < n) {
            sums[tid] += in[i + blockDim.x];
        }
        i += grid_size;
    }
    __syncthreads();

    reduce_to_64<Sum>(sums);
    if (tid < 32) last_warp_syncwarp(sums, tid);
    if (tid == 0) out[blockIdx.x] = sums[0];
}
// ANCHOR_END: grid_stride

// The same with one test a step, which holds for both loads, and the last warp from
// register to register. i + blockDim.x < n is written i < pairs: the sum on its left
// could exceed 32 bits after the last step.
template <typename Op, typename T>
__device__ void grid_stride_shuffle(const T* in, T* out, unsigned int n) {
    __shared__ T sums[MAX_BLOCK];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (blockDim.x * 2) + tid;
    unsigned int grid_size = blockDim.x * 2 * gridDim.x;
    unsigned int pairs = n > blockDim.x ? n - blockDim.x : 0;

    T sum = Op::identity(T());
    // ANCHOR: pairs_loop
    for (; i < pairs; i += grid_size) {
        sum = Op::join(sum, Op::join(in[i], in[i + blockDim.x]));
    }
    if (i < n) { // the step in which only the first is there
        sum = Op::join(sum, in[i]);
    }
    // ANCHOR_END: pairs_loop
    sums[tid] = sum;
    __syncthreads();

    reduce_to_64<Op>(sums);
    if (tid < 32) {
        sum = last_warp_shuffle<Op>(sums, tid);
        if (tid == 0) out[blockIdx.x] = sum;
    }
}

// ANCHOR: pack
// W neighbours that one load brings: int4 and float4 for any type. The alignment is
// what makes it one load, and what the address must have.
template <typename T, unsigned int W>
struct alignas(W * sizeof(T)) Pack {
    T at[W];
};
// ANCHOR_END: pack

// The loop of grid_stride_shuffle over packs of BYTES bytes. The array may begin at any
// element: the first head elements lie before an address that a pack may have, the last
// ones from tail on are too few for a pack, and block 0 adds both one by one.
template <unsigned int BYTES, typename T>
__device__ void vectorised(const T* in, T* out, unsigned int n) {
    constexpr unsigned int W = BYTES / sizeof(T);
    __shared__ T sums[MAX_BLOCK];
    unsigned int tid = threadIdx.x;

    // ANCHOR: head
    unsigned int past = reinterpret_cast<size_t>(in) % BYTES / sizeof(T);
    unsigned int head = min(n, (W - past) % W);
    unsigned int packs = (n - head) / W;
    unsigned int tail = head + packs * W;
    const Pack<T, W>* packed = reinterpret_cast<const Pack<T, W>*>(in + head);
    // ANCHOR_END: head

    unsigned int i = blockIdx.x * (blockDim.x * 2) + tid;
    unsigned int grid_size = blockDim.x * 2 * gridDim.x;
    unsigned int pairs = packs > blockDim.x ? packs - blockDim.x : 0;
    T sum[W] = {}; // one for each place in a pack
    for (; i < pairs; i += grid_size) {
        Pack<T, W> a = packed[i], b = packed[i + blockDim.x];
        for (unsigned int k = 0; k < W; k++) {
            sum[k] += a.at[k] + b.at[k];
        }
    }
    if (i < packs) {
        Pack<T, W> a = packed[i];
        for (unsigned int k = 0; k < W; k++) {
            sum[k] += a.at[k];
        }
    }
    if (blockIdx.x == 0) { // each has fewer than W elements
        if (tid < head) sum[0] += in[tid];
        if (tail + tid < n) sum[0] += in[tail + tid];
    }
    for (unsigned int k = 1; k < W; k++) {
        sum[0] += sum[k];
    }
    sums[tid] = sum[0];
    __syncthreads();

    reduce_to_64<Sum>(sums);
    if (tid < 32) {
        T total = last_warp_shuffle<Sum>(sums, tid);
        if (tid == 0) out[blockIdx.x] = total;
    }
}

// C names, so that a host program finds each instance by the name the reader sees. The
// macro writes ENTRY(name, type, call) out as one such function. Sums of int are made in
// unsigned int, which wraps: see chapter 1.
#define ENTRY(name, T, call)                                                 \
    extern "C" __global__ void name(const T* in, T* out, unsigned int n) {   \
        call(in, out, n);                                                    \
    }

extern "C" __global__ void clear_i32(unsigned int* out) { *out = 0; }
extern "C" __global__ void clear_f32(float* out) { *out = 0; }
extern "C" __global__ void clear_f64(double* out) { *out = 0; }

ENTRY(segmented_atomic_i32, unsigned int, segmented_atomic)
ENTRY(segmented_atomic_f32, float, segmented_atomic)
ENTRY(segmented_atomic_f64, double, segmented_atomic)

ENTRY(coarsened_c1_i32, unsigned int, coarsened<1>)
ENTRY(coarsened_c1_f32, float, coarsened<1>)
ENTRY(coarsened_c1_f64, double, coarsened<1>)

ENTRY(coarsened_c2_i32, unsigned int, coarsened<2>)
ENTRY(coarsened_c2_f32, float, coarsened<2>)
ENTRY(coarsened_c2_f64, double, coarsened<2>)

ENTRY(coarsened_c4_i32, unsigned int, coarsened<4>)
ENTRY(coarsened_c4_f32, float, coarsened<4>)
ENTRY(coarsened_c4_f64, double, coarsened<4>)

ENTRY(coarsened_c8_i32, unsigned int, coarsened<8>)
ENTRY(coarsened_c8_f32, float, coarsened<8>)
ENTRY(coarsened_c8_f64, double, coarsened<8>)

ENTRY(coarsened_c16_i32, unsigned int, coarsened<16>)
ENTRY(coarsened_c16_f32, float, coarsened<16>)
ENTRY(coarsened_c16_f64, double, coarsened<16>)

ENTRY(coarsened_c32_i32, unsigned int, coarsened<32>)
ENTRY(coarsened_c32_f32, float, coarsened<32>)
ENTRY(coarsened_c32_f64, double, coarsened<32>)

ENTRY(multi_add_n1024_i32, unsigned int, multi_add<1024>)
ENTRY(multi_add_n1024_f32, float, multi_add<1024>)
ENTRY(multi_add_n1024_f64, double, multi_add<1024>)

ENTRY(multi_add_n2048_i32, unsigned int, multi_add<2048>)
ENTRY(multi_add_n2048_f32, float, multi_add<2048>)
ENTRY(multi_add_n2048_f64, double, multi_add<2048>)

ENTRY(multi_add_n4096_i32, unsigned int, multi_add<4096>)
ENTRY(multi_add_n4096_f32, float, multi_add<4096>)
ENTRY(multi_add_n4096_f64, double, multi_add<4096>)

ENTRY(multi_add_n8192_i32, unsigned int, multi_add<8192>)
ENTRY(multi_add_n8192_f32, float, multi_add<8192>)
ENTRY(multi_add_n8192_f64, double, multi_add<8192>)

ENTRY(multi_add_n16384_i32, unsigned int, multi_add<16384>)
ENTRY(multi_add_n16384_f32, float, multi_add<16384>)
ENTRY(multi_add_n16384_f64, double, multi_add<16384>)

ENTRY(multi_add_n32768_i32, unsigned int, multi_add<32768>)
ENTRY(multi_add_n32768_f32, float, multi_add<32768>)
ENTRY(multi_add_n32768_f64, double, multi_add<32768>)

ENTRY(multi_add_n65536_i32, unsigned int, multi_add<65536>)
ENTRY(multi_add_n65536_f32, float, multi_add<65536>)
ENTRY(multi_add_n65536_f64, double, multi_add<65536>)

ENTRY(grid_stride_i32, unsigned int, grid_stride)
ENTRY(grid_stride_f32, float, grid_stride)
ENTRY(grid_stride_f64, double, grid_stride)

ENTRY(grid_stride_shuffle_i32, unsigned int, grid_stride_shuffle<Sum>)
ENTRY(grid_stride_shuffle_f32, float, grid_stride_shuffle<Sum>)
ENTRY(grid_stride_shuffle_f64, double, grid_stride_shuffle<Sum>)

ENTRY(grid_stride_shuffle_min_i32, int, grid_stride_shuffle<Min>)
ENTRY(grid_stride_shuffle_min_f32, float, grid_stride_shuffle<Min>)
ENTRY(grid_stride_shuffle_min_f64, double, grid_stride_shuffle<Min>)

ENTRY(grid_stride_shuffle_max_i32, int, grid_stride_shuffle<Max>)
ENTRY(grid_stride_shuffle_max_f32, float, grid_stride_shuffle<Max>)
ENTRY(grid_stride_shuffle_max_f64, double, grid_stride_shuffle<Max>)

ENTRY(vectorised_v8_i32, unsigned int, vectorised<8>)
ENTRY(vectorised_v8_f32, float, vectorised<8>)
ENTRY(vectorised_v8_f64, double, vectorised<8>)

ENTRY(vectorised_v16_i32, unsigned int, vectorised<16>)
ENTRY(vectorised_v16_f32, float, vectorised<16>)
ENTRY(vectorised_v16_f64, double, vectorised<16>)
