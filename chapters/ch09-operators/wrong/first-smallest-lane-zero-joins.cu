// A mistake: lane 0 takes the pairs of the other 31 lanes one after the other.

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

// One value of a warp from its 32, in lane 0.
__device__ Found warp_value(Found found) {
    Found all = found;
    for (unsigned int lane = 1; lane < 32; lane++) {
        Found other;
        other.value = __shfl_sync(0xffffffff, found.value, lane);
        other.index = __shfl_sync(0xffffffff, found.index, lane);
        all = ArgMin::combine(all, other);
    }
    return all;
}

// One value of a block, right in thread 0. Blocks are a multiple of 32 threads.
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
