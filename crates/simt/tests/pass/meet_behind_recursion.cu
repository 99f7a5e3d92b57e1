// Lanes recurse to different depths, and return early from some; all 32 are together behind the call, in every schedule:
// a shuffle there must find them all, and the counters say that what follows is issued once.
__device__ __noinline__ int depth(int n, int stop) {
    if (n == stop) return 100;
    if (n > 3 && (n & 1)) return n;
    return 1 + depth(n + 1, stop);
}

extern "C" __global__ void meet(int* out) {
    int t = threadIdx.x;
    int mine = depth(t % 3, t % 7);
    out[t] = __shfl_xor_sync(0xffffffffu, mine, 1) + __popc(__activemask()) * 1000;
}
