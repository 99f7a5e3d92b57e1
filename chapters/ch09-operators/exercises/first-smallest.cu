// Exercise: the smallest element, and the index at which it stands first.
//
// One block takes all elements. The operator ArgMin says what the threads hold; the machine below combines
// these values.

// The result in out[0]. Without elements, the index has all its bits set.
struct Place {
    unsigned long long index;
    int value;
};
constexpr unsigned int NOWHERE = 0xffffffff;

// What a thread holds on the way.
struct Found {
    int value;
    unsigned int index;
};

// ANCHOR: starter
struct ArgMin {
    // TODO: the value that changes nothing.
    static __device__ Found identity() { return {0, 0}; }
    // The value of element i.
    static __device__ Found lift(int x, unsigned int i) { return {x, i}; }
    // TODO: the better of the two, also if both values are equal.
    static __device__ Found combine(Found a, Found b) {
        return a.value < b.value ? a : b;
    }
};

// Combines the 32 values of a warp; the result is in lane 0.
__device__ Found warp_value(Found found) {
    // TODO: five rounds. A shuffle carries 32 bits.
    return found;
}
// ANCHOR_END: starter

// Combines the values of a block; the result is in thread 0. Blocks are a multiple of 32 threads.
__device__ Found block_value(Found found) {
    __shared__ Found of_warps[32];
    found = warp_value(found);
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = found;
    __syncthreads();
    if (threadIdx.x >= 32) return found;
    return warp_value(threadIdx.x < blockDim.x / 32 ? of_warps[threadIdx.x] : ArgMin::identity());
}

extern "C" __global__ void first_smallest_i32(const int* in, Place* out, unsigned int n) {
    Found found = ArgMin::identity();
    for (unsigned int i = threadIdx.x; i < n; i += blockDim.x) found = ArgMin::combine(found, ArgMin::lift(in[i], i));
    found = block_value(found);
    if (threadIdx.x == 0) *out = {found.index == NOWHERE ? ~0ull : found.index, found.value};
}
