// One function that gets pointers to global, shared, local and constant memory: generic addresses.
// simt: --kernel pointer_parameters --grid 2 --block 64 --arg in=i32[128]:iota --arg out=i32[128]:zero --print out
__constant__ int fixed[4] = {100, -200, 300, -400};
__device__ int global_copy[4] = {1, 2, 3, 4};
__device__ __noinline__ int sum(const int* p, int n, int* count) {
    int s = 0;
    for (int k = 0; k < n; ++k) s += p[k];
    *count += n;
    return s;
}

extern "C" __global__ void pointer_parameters(const int* in, int* out) {
    __shared__ int shared[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    int local[4] = {t, t * t, -t, 7};
    shared[t] = in[i] * 2;
    __syncthreads();
    const int* where[5] = {in + i / 8, shared + t % 61, local, fixed, global_copy};
    int count = 0, total = 0;
    for (int k = 0; k < 3; ++k) total = total * 3 + sum(where[(t + k) % 5], 1 + t % 3, &count);
    out[i] = total * 10 + count;
}
