// Chapter 3: sequential addressing, the tree in shared memory halved from the top.
//
// Idea.   Add the far half of the sums to the near half. The sums that are left lie side
//         by side, as do the threads: lane after lane reads word after word.
// Limit.  A block of B threads loads B elements and has B / 2 additions to make in its
//         first round: half of the threads have loaded one number, and do nothing more.
//         Chapter 4 gives them something to add.
// Worked. 256 numbers, s = 128, 64, ..., 1: the additions take 4 + 2 + 1 + 1 + 1 + 1 + 1
//         + 1 = 12 warp-instructions, as in chapter 2's strided_index, and each access of
//         each of them takes one wavefront, where strided_index takes 47 for its 12.

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

// ANCHOR: sequential
// The block is a power of two: an odd number of sums would lose the last one. The pairs
// are not neighbours, so the operation must be commutative as well as associative.
template <typename T>
__device__ void sequential(const T* in, T* out, unsigned int n) {
    __shared__ T sums[MAX_BLOCK];
    unsigned int tid = threadIdx.x;
    sums[tid] = load_one(in, n);
    __syncthreads();

    // ANCHOR: sequential_loop
    for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) {
            sums[tid] += sums[tid + s];
        }
        __syncthreads();
    }
    // ANCHOR_END: sequential_loop

    if (tid == 0) {
        out[blockIdx.x] = sums[0];
    }
}
// ANCHOR_END: sequential

// ANCHOR: entries
// C names, so that a host program finds each instance by the name the reader sees. An array
// of int is summed as unsigned int: the same 32 bits, and unsigned addition wraps where
// that of int would be undefined.
extern "C" __global__ void sequential_i32(
    const unsigned int* in, unsigned int* out, unsigned int n) {
    sequential(in, out, n);
}
extern "C" __global__ void sequential_f32(const float* in, float* out, unsigned int n) {
    sequential(in, out, n);
}
// ANCHOR_END: entries
