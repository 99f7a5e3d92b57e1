// Recursion, then a tree sum in shared memory.
// simt: --kernel barrier_after_recursion --grid 3 --block 128 --arg out=u32[3]:zero --print out
__device__ __noinline__ unsigned digits(unsigned n) { return n < 3 ? n : digits(n / 3) + n % 3; }

extern "C" __global__ void barrier_after_recursion(unsigned* out) {
    __shared__ unsigned sums[128];
    unsigned t = threadIdx.x;
    sums[t] = digits((blockIdx.x * 128 + t) * 97);
    __syncthreads();
    for (unsigned half = 64; half > 0; half /= 2) {
        if (t < half) sums[t] += sums[t + half];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = sums[0];
}
