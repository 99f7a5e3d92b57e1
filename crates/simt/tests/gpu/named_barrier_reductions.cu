// Two groups of warps reduce predicates at barriers of their own.
// simt: --kernel named_barrier_reductions --grid 2 --block 160 --arg in=u32[320]:hash8 --arg out=u32[960]:zero --print out
extern "C" __global__ void named_barrier_reductions(const unsigned* in, unsigned* out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, group = threadIdx.x < 64 ? 0 : 1;
    unsigned id = 1 + group, count = group == 0 ? 64 : 96, x = in[i];
    unsigned popc, all, any;
    asm volatile("{ .reg .pred p; setp.gt.u32 p, %1, 128; barrier.cta.red.popc.aligned.u32 %0, %2, %3, p; }"
                 : "=r"(popc) : "r"(x), "r"(id), "r"(count) : "memory");
    asm volatile("{ .reg .pred p, q; setp.gt.u32 p, %1, 253; bar.red.and.pred q, %2, %3, !p; selp.u32 %0, 1, 0, q; }"
                 : "=r"(all) : "r"(x), "r"(id), "r"(count) : "memory");
    asm volatile("{ .reg .pred p, q; setp.gt.u32 p, %1, 250; bar.red.or.pred q, %2, %3, p; selp.u32 %0, 1, 0, q; }"
                 : "=r"(any) : "r"(x), "r"(id), "r"(count) : "memory");
    out[3 * i] = popc;
    out[3 * i + 1] = all;
    out[3 * i + 2] = any;
}
