// Each block waits for the one before it, adds to what it left, and lets the next one go. More blocks than host threads.
// simt: --kernel flag_chain --grid 200 --block 32 --arg data=u32[201]:zero --arg flags=u32[201]:zero --print data --print flags:3
extern "C" __global__ void flag_chain(unsigned* data, unsigned* flags) {
    unsigned b = blockIdx.x;
    if (threadIdx.x != 0) return;
    if (b > 0) {
        unsigned seen;
        do {
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flags + b) : "memory");
        } while (seen == 0);
    }
    data[b + 1] = data[b] * 3 + b;
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flags + b + 1), "r"(1) : "memory");
}
