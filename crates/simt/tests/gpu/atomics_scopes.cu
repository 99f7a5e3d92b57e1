// Atomics of every scope and order; a ticket makes each thread's place known, and sums do not depend on it.
// simt: --kernel atomics_scopes --grid 2 --block 64 --arg out=u32[16]:zero --print out
extern "C" __global__ void atomics_scopes(unsigned* out) {
    __shared__ unsigned s;
    unsigned t = threadIdx.x, old;
    if (t == 0) s = 0;
    __syncthreads();
    atomicAdd_block(&s, t);
    atomicAdd_system(out, t);
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" ::"l"(out + 1), "r"(t) : "memory");
    asm volatile("red.release.sys.global.max.u32 [%0], %1;" ::"l"(out + 2), "r"(t * 3) : "memory");
    asm volatile("atom.acquire.gpu.global.or.b32 %0, [%1], %2;" : "=r"(old) : "l"(out + 3), "r"(1 << t % 32) : "memory");
    asm volatile("atom.acq_rel.sys.global.inc.u32 %0, [%1], %2;" : "=r"(old) : "l"(out + 4), "r"(1000) : "memory");
    atomicAdd(out + 5, old);  // 0 + 1 + ... + 127, in whatever order
    asm volatile("atom.release.cta.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(&s), "r"(1) : "memory");
    asm volatile("fence.acq_rel.cta; fence.sc.gpu; membar.cta; membar.gl; membar.sys;" ::: "memory");
    __syncthreads();
    unsigned seen;
    asm volatile("ld.acquire.cta.u32 %0, [%1];" : "=r"(seen) : "l"(&s) : "memory");
    if (t == 0) asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(out + 6 + blockIdx.x), "r"(seen) : "memory");
    if (t == 1) asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(out + 8 + blockIdx.x), "r"(seen + 1) : "memory");
    if (t == 2) asm volatile("st.volatile.global.u32 [%0], %1;" ::"l"(out + 10 + blockIdx.x), "r"(seen + 2) : "memory");
}
