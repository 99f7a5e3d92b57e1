// Each pair of warps sums its part behind its own barrier, a different number of times, and then all meet.
// simt: --kernel partial_barriers --grid 2 --block 192 --arg in=u32[384]:hash8 --arg out=u32[8]:zero --print out
extern "C" __global__ void partial_barriers(const unsigned* in, unsigned* out) {
    __shared__ unsigned s[192];
    __shared__ unsigned total;
    unsigned t = threadIdx.x, pair = t / 64, first = pair * 64, at = t % 64;
    s[t] = in[blockIdx.x * blockDim.x + t];
    if (t == 0) total = 0;
    __syncthreads();
    for (unsigned round = 0; round <= pair; round++) {
        unsigned next = s[first + (at + 7) % 64];
        asm volatile("barrier.sync %0, 64;" ::"r"(pair + 1) : "memory");
        s[t] += next;
        asm volatile("barrier.cta.sync.aligned %0, 64;" ::"r"(pair + 1) : "memory");
    }
    for (unsigned stride = 32; stride > 0; stride /= 2) {
        if (at < stride) s[t] += s[t + stride];
        asm volatile("bar.sync %0, %1;" ::"r"(pair + 1), "r"(64) : "memory");
    }
    if (at == 0) {
        out[blockIdx.x * 4 + pair] = s[t];
        atomicAdd(&total, s[t]);
    }
    __syncthreads();
    if (t == 0) out[blockIdx.x * 4 + 3] = total;
}
