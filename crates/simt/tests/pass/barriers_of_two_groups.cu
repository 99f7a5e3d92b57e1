// Two groups of two warps sum in turn; each group has a barrier of its own.
extern "C" __global__ void groups(const int* in, int* out) {
    __shared__ int s[128];
    unsigned t = threadIdx.x, group = t / 64, at = t % 64;
    s[t] = in[t];
    asm volatile("bar.sync %0, 64;" ::"r"(group + 1) : "memory");
    for (unsigned stride = 32; stride > 0; stride /= 2) {
        if (at < stride) s[t] += s[t + stride];
        asm volatile("bar.sync %0, 64;" ::"r"(group + 1) : "memory");
    }
    if (at == 0) out[group] = s[t];
}
