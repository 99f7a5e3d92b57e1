// One warp copies for three others; barrier objects say when a stage is full, which the copies themselves report, and when it is free.
// simt: --kernel async_producer_warp --grid 2 --block 128 --arg in=u32[1536]:hash8 --arg out=u32[1536]:zero --arg tiles=u32:8 --print out
__device__ void wait_for(unsigned object, unsigned parity) {
    asm volatile("{ .reg .pred p; WAIT: mbarrier.test_wait.parity.shared.b64 p, [%0], %1; @!p bra WAIT; }" :: "r"(object), "r"(parity) : "memory");
}

extern "C" __global__ void async_producer_warp(const unsigned* in, unsigned* out, unsigned tiles) {
    __shared__ unsigned stage[2][96];
    __shared__ alignas(8) unsigned long long full[2], free_again[2];
    unsigned t = threadIdx.x, to = (unsigned)__cvta_generic_to_shared(stage);
    unsigned f = (unsigned)__cvta_generic_to_shared(full), e = (unsigned)__cvta_generic_to_shared(free_again);
    in += blockIdx.x * tiles * 96;
    out += blockIdx.x * tiles * 96;
    if (t < 2) {
        asm volatile("mbarrier.init.shared.b64 [%0], 32; mbarrier.init.shared.b64 [%1], 96;" :: "r"(f + 8 * t), "r"(e + 8 * t) : "memory");
    }
    __syncthreads();
    for (unsigned tile = 0; tile < tiles; tile++) {
        unsigned s = tile & 1, round = tile >> 1;
        if (t < 32) {
            wait_for(e + 8 * s, (round & 1) ^ 1);
            for (unsigned k = t; k < 96; k += 32) {
                asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to + 4 * (96 * s + k)), "l"(in + tile * 96 + k) : "memory");
            }
            asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(f + 8 * s) : "memory");
        } else {
            wait_for(f + 8 * s, round & 1);
            out[tile * 96 + t - 32] = stage[s][(t * 7) % 96] + t;
            asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(e + 8 * s) : "memory");
        }
    }
}
