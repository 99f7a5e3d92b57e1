// Two functions that call each other; lanes end in different ones.
// simt: --kernel even_odd --grid 2 --block 64 --arg out=u32[128]:zero --print out
__device__ __noinline__ unsigned odd(unsigned n, unsigned steps);
__device__ __noinline__ unsigned even(unsigned n, unsigned steps) {
    if (n == 0) return steps * 2;
    return odd(n - 1, steps + 3) ^ 1;
}
__device__ __noinline__ unsigned odd(unsigned n, unsigned steps) {
    if (n == 0) return steps * 2 + 1;
    return even(n - 1, steps + 5) + n;
}

extern "C" __global__ void even_odd(unsigned* out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = (i & 1) ? odd(i % 13, i) : even(i % 9, i);
}
