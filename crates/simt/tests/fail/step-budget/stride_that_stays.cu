// A stride that is never halved. The loop races too, in each of its rounds, but that it does not end is what is wrong.
extern "C" __global__ void block_sum(const int* in, int* out) {
    __shared__ int s[64];
    unsigned t = threadIdx.x, stride = 32;
    s[t] = in[t];
    __syncthreads();
    while (stride > 0) {
        if (t < stride) s[t] += s[(t + 1) % 64]; //~ ERROR[shared-race] //~ ERROR[step-budget]
    }
    if (t == 0) *out = s[0];
}
