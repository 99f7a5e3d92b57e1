// The smallest element, and where it is first: thread 0 goes through what the others found.

// What is left in out[0]. Of no elements the index has all its bits.
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

struct ArgMin {
    static __device__ Found identity() { return {2147483647, NOWHERE}; }
    static __device__ Found lift(int x, unsigned int i) { return {x, i}; }
    static __device__ Found combine(Found a, Found b) {
        return b.value < a.value || (b.value == a.value && b.index < a.index) ? b : a;
    }
};

// One value of a block, right in thread 0.
__device__ Found block_value(Found found) {
    __shared__ Found of_threads[1024];
    of_threads[threadIdx.x] = found;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (unsigned int k = 1; k < blockDim.x; k++) found = ArgMin::combine(found, of_threads[k]);
    }
    return found;
}

extern "C" __global__ void first_smallest_i32(const int* in, Place* out, unsigned int n) {
    Found found = ArgMin::identity();
    for (unsigned int i = threadIdx.x; i < n; i += blockDim.x) found = ArgMin::combine(found, ArgMin::lift(in[i], i));
    found = block_value(found);
    if (threadIdx.x == 0) *out = {found.index == NOWHERE ? ~0ull : found.index, found.value};
}
