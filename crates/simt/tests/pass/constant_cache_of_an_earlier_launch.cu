// What an earlier launch wrote, and what no launch writes, may be read through the cache for constant data.
extern "C" __global__ void twice(const int* in, int* out) {
    unsigned i = blockIdx.x * 64 + threadIdx.x;
    out[i] = 2 * __ldg(in + i);
}
extern "C" __global__ void shift(const int* in, int* out) {
    unsigned i = blockIdx.x * 64 + threadIdx.x, n = gridDim.x * 64;
    out[i] = __ldg(in + (i + 1) % n);
}
