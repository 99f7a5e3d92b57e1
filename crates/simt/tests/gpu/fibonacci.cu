// Every lane recurses to a depth of its own.
// simt: --kernel fibonacci --grid 3 --block 96 --arg out=u32[288]:zero --arg n=u32:280 --print out
__device__ __noinline__ unsigned fib(unsigned n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

extern "C" __global__ void fibonacci(unsigned* out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = fib(i % 11) * 1000 + i;
}
