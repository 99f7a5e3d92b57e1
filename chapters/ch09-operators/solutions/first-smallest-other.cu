// The smallest element, and where it is first: another solution. Value and index are one number of 64 bits, the value
// on top, so that the smallest number is the smallest value and, of equal ones, the first.

struct Place {
    unsigned long long index;
    int value;
};

struct Packed {
    static __device__ unsigned long long identity() { return ~0ull; }
    // Without its sign: the smallest int becomes 0.
    static __device__ unsigned long long lift(int x, unsigned int i) {
        return static_cast<unsigned long long>(static_cast<unsigned int>(x) ^ 0x80000000u) << 32 | i;
    }
    static __device__ unsigned long long combine(unsigned long long a, unsigned long long b) { return min(a, b); }
};

extern "C" __global__ void first_smallest_i32(const int* in, Place* out, unsigned int n) {
    __shared__ unsigned long long of_threads[1024];
    unsigned int tid = threadIdx.x;
    unsigned long long found = Packed::identity();
    for (unsigned int i = tid; i < n; i += blockDim.x) found = Packed::combine(found, Packed::lift(in[i], i));
    of_threads[tid] = found;
    __syncthreads();
    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) of_threads[tid] = Packed::combine(of_threads[tid], of_threads[tid + s]);
        __syncthreads();
    }
    if (tid > 0) return;
    found = of_threads[0];
    unsigned int index = static_cast<unsigned int>(found);
    *out = {index == 0xffffffff ? ~0ull : index, static_cast<int>(static_cast<unsigned int>(found >> 32) ^ 0x80000000u)};
}
