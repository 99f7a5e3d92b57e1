// The condition that ends the recursion is never true for odd numbers.
__device__ __noinline__ int sum_down(const int* values, int n) {
    if (n == 0) return values[0];
    return values[n & 31] + sum_down(values, n - 2); //~ ERROR[stack-overflow]
}

extern "C" __global__ void sums(const int* in, int* out) {
    out[threadIdx.x] = sum_down(in, threadIdx.x % 4 + 2);
}
