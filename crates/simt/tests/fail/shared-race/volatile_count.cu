// Two warps count in one volatile word of shared memory. A load and a store are two steps.
extern "C" __global__ void count(int* out) {
    __shared__ volatile int c;
    unsigned t = threadIdx.x;
    if (t == 0) c = 0;
    __syncthreads();
    if (t % 32 == 0) c = c + 1; //~ ERROR[shared-race]
    __syncthreads();
    if (t == 0) *out = c;
}
