// One thread has whole tiles copied, two ahead; a barrier object counts their bytes, and all wait for it (sm_90).
// simt: --kernel async_bulk --grid 2 --block 96 --arg in=u32[3072]:hash8 --arg out=u32[1536]:zero --arg tiles=u32:8 --print out
__device__ void fetch(unsigned to, const unsigned* from, unsigned bytes, unsigned full) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(full), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"(to), "l"(from), "r"(bytes), "r"(full) : "memory");
}

extern "C" __global__ void async_bulk(const unsigned* in, unsigned* out, unsigned tiles) {
    __shared__ alignas(16) unsigned stage[2][192];
    __shared__ alignas(8) unsigned long long full[2];
    unsigned t = threadIdx.x, s = (unsigned)__cvta_generic_to_shared(stage), f = (unsigned)__cvta_generic_to_shared(full);
    in += blockIdx.x * tiles * 192;
    out += blockIdx.x * tiles * 96;
    if (t == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; mbarrier.init.shared::cta.b64 [%0+8], 1;" :: "r"(f) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async;" ::: "memory");
        fetch(s, in, 768, f);
        fetch(s + 768, in + 192, 768, f + 8);
    }
    __syncthreads();
    for (unsigned tile = 0; tile < tiles; tile++) {
        unsigned now = tile & 1, over = 0;
        while (!over) {
            asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(over) : "r"(f + 8 * now), "r"(tile >> 1 & 1) : "memory");
        }
        out[tile * 96 + t] = stage[now][t] * 3 + stage[now][191 - t];
        __syncthreads();
        if (t == 0 && tile + 2 < tiles) {
            fetch(s + 768 * now, in + (tile + 2) * 192, 768, f + 8 * now);
        }
    }
}
