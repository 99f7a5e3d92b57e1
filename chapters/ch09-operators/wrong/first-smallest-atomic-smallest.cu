// A mistake: each thread puts its pair into one word of shared memory.

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
    __shared__ unsigned long long of_warp[32];
    unsigned long long* mine = of_warp + threadIdx.x / 32;
    if (threadIdx.x % 32 == 0) *mine = ~0ull;
    __syncwarp();
    atomicMin(mine, (unsigned long long)((unsigned int)found.value ^ 0x80000000u) << 32 | found.index);
    __syncwarp();
    unsigned long long all = *mine;
    __syncwarp();
    return {(int)((unsigned int)(all >> 32) ^ 0x80000000u), (unsigned int)all};
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
