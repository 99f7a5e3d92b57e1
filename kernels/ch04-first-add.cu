// Chapter 4: first add during load.
//
// Idea.   In the first round of the tree half of the threads have nothing to add, and a
//         block goes through all of its rounds and barriers to sum one element a
//         thread. So each thread loads two elements and adds them on the way in: a
//         block sums twice as many, and half as many blocks do the work.
// Limit.  The tree behind the load is as long as before. Most instructions of a block
//         are tests, addresses, branches and barriers, and while it works on them it
//         has no load on its way.
// Worked. 512 elements. One block of 256 threads: 8 warps add 256 pairs as they load,
//         and the tree takes 4 + 2 + 1 + 1 + 1 + 1 + 1 + 1 = 12 warp-additions: 20.
//         One element a thread takes two blocks, 24, and two sums are left to add.

constexpr unsigned int MAX_BLOCK = 1024; // most threads of a block, on every card so far

// ANCHOR: first_add
// Two elements a thread, blockDim.x apart. Blocks are a power of two; out gets one sum
// a block.
template <typename T>
__device__ void first_add(const T* in, T* out, unsigned int n) {
    __shared__ T sums[MAX_BLOCK];
    unsigned int tid = threadIdx.x;

    // ANCHOR: load
    unsigned int i = blockIdx.x * (blockDim.x * 2) + tid;
    T sum = i < n ? in[i] : T(0);
    if (i + blockDim.x < n) { // a test of its own
        sum += in[i + blockDim.x];
    }
    sums[tid] = sum;
    __syncthreads();
    // ANCHOR_END: load

    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) {
            sums[tid] += sums[tid + s];
        }
        __syncthreads();
    }

    if (tid == 0) {
        out[blockIdx.x] = sums[0];
    }
}
// ANCHOR_END: first_add

// ANCHOR: shared_mem
// The same sum in the textbook's form: the barrier is at the start of a round, where it
// orders the load as well. Blocks are a power of two; out gets one sum a block.
template <typename T>
__device__ void shared_mem(const T* in, T* out, unsigned int n) {
    __shared__ T input_s[MAX_BLOCK];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (blockDim.x * 2) + tid;
    unsigned int j = i + blockDim.x;

    input_s[tid] = (i < n ? in[i] : T(0)) + (j < n ? in[j] : T(0));

    for (unsigned int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        __syncthreads();
        if (tid < stride) {
            input_s[tid] += input_s[tid + stride];
        }
    }

    if (tid == 0) {
        out[blockIdx.x] = input_s[0]; // which thread 0 itself wrote
    }
}
// ANCHOR_END: shared_mem

// ANCHOR: entries
// C names, so that a host program finds each instance by the name the reader sees. An array
// of int is summed as unsigned int: the same 32 bits, and unsigned addition wraps where
// that of int would be undefined.
extern "C" __global__ void first_add_i32(
    const unsigned int* in, unsigned int* out, unsigned int n) {
    first_add(in, out, n);
}
extern "C" __global__ void first_add_f32(const float* in, float* out, unsigned int n) {
    first_add(in, out, n);
}
extern "C" __global__ void shared_mem_i32(
    const unsigned int* in, unsigned int* out, unsigned int n) {
    shared_mem(in, out, n);
}
extern "C" __global__ void shared_mem_f32(const float* in, float* out, unsigned int n) {
    shared_mem(in, out, n);
}
// ANCHOR_END: entries
