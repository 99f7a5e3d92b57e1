// A running sum in one pass: each block publishes flag and value in one 64-bit word and adds up its predecessors'.
// simt: --kernel look_back --grid 60 --block 64 --arg in=u32[3840]:hash8 --arg out=u32[3840]:zero --arg status=u64[60]:zero --print out
extern "C" __global__ void look_back(const unsigned* in, unsigned* out, unsigned long long* status) {
    __shared__ unsigned s[64];
    __shared__ unsigned before;
    unsigned t = threadIdx.x, b = blockIdx.x, i = b * 64 + t;
    s[t] = in[i];
    __syncthreads();
    for (unsigned step = 1; step < 64; step *= 2) {
        unsigned add = t >= step ? s[t - step] : 0;
        __syncthreads();
        s[t] += add;
        __syncthreads();
    }
    if (t == 0) {
        const unsigned long long part = 1ull << 32, whole = 2ull << 32;
        asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(status + b), "l"((b == 0 ? whole : part) | s[63]) : "memory");
        unsigned sum = 0;
        for (int p = (int)b - 1; p >= 0; p--) {
            unsigned long long word;
            do {
                asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(status + p) : "memory");
            } while (word == 0);
            sum += (unsigned)word;
            if (word >> 32 == 2) break;
        }
        if (b > 0) asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(status + b), "l"(whole | (sum + s[63])) : "memory");
        before = sum;
    }
    __syncthreads();
    out[i] = before + s[t];
}
