// A recursive function that calls back through a pointer, which may lead to recursion again.
// simt: --kernel fold_with_callback --grid 2 --block 64 --arg out=i32[128]:zero --print out
typedef int (*Combine)(int, int);
__device__ __noinline__ int fold(Combine f, int n, int start);
__device__ __noinline__ int difference(int a, int b) { return a * 3 - b; }
__device__ __noinline__ int nested(int a, int b) { return b > 2 ? a + b : a + fold(difference, b, a & 7); }
__device__ Combine combines[2] = {difference, nested};

__device__ __noinline__ int fold(Combine f, int n, int start) {
    if (n == 0) return start;
    return f(fold(f, n - 1, start), n);
}

extern "C" __global__ void fold_with_callback(int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = fold(combines[i % 3 == 0], i % 6, i);
}
