// The last steps of a sum, unrolled and volatile as before Volta. A fence that has nothing to do with them makes no
// difference: lanes may run apart.
extern "C" __global__ void warp_sum(const int* in, int* out) {
    __shared__ volatile int s[64];
    unsigned t = threadIdx.x;
    s[t] = in[t];
    __threadfence();
    __syncthreads();
    if (t < 32) {
        s[t] += s[t + 32];
        s[t] += s[t + 16]; //~ ERROR[shared-race]
        s[t] += s[t + 8]; //~ ERROR[shared-race]
        s[t] += s[t + 4]; //~ ERROR[shared-race]
        s[t] += s[t + 2]; //~ ERROR[shared-race]
        s[t] += s[t + 1]; //~ ERROR[shared-race]
    }
    if (t == 0) *out = s[0];
}
