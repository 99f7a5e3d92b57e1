// Copies of four bytes alone: one sector each where they come from; where they go, each bank twice, and then eight lanes a bank.
// simt: --kernel async_strided --grid 4 --block 64 --arg in=u32[2048]:hash8 --arg out=u32[256]:zero --print out
extern "C" __global__ void async_strided(const unsigned* in, unsigned* out) {
    __shared__ unsigned twice[128], eight[512];
    unsigned t = threadIdx.x;
    const unsigned* from = in + blockIdx.x * 512 + 8 * t;
    unsigned a = (unsigned)__cvta_generic_to_shared(&twice[2 * t]), b = (unsigned)__cvta_generic_to_shared(&eight[8 * t]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(a), "l"(from) : "memory");
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(b), "l"(from + 4) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    out[blockIdx.x * 64 + t] = twice[2 * (63 - t)] + 1000 * eight[8 * (63 - t)];
}
