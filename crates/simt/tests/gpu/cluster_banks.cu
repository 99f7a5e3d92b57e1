// Half of the lanes stay in their block, in a bank each; the others meet in four banks of another block, which
// costs their own block nothing: one pass for each load, store and atomic.
// simt: --kernel cluster_banks --grid 2 --block 32 --cluster 2 --arg zero=u32[64]:zero --arg out=u32[32]:zero --print out
#define SYNC asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory")
extern "C" __global__ void cluster_banks(const unsigned* zero, unsigned* out) {
    __shared__ unsigned s[512];
    unsigned t = threadIdx.x, sum = 0;
    for (unsigned i = t; i < 512; i += 32) s[i] = i;
    SYNC;
    unsigned rank = (t % 2) + zero[t], word = (t % 2 ? 8 * (t / 2) : t / 2) + zero[32 + t];
    unsigned* there, own;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(s + word), "r"(rank));
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(own));
    if (own == 0) {
#pragma unroll 1
        for (int i = 0; i < 16; i++) {
            unsigned seen = *(volatile unsigned*)there, old;
            *(volatile unsigned*)there = seen + 1;
            asm volatile("atom.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(there), "r"(t) : "memory");
            sum += seen + old;
        }
        out[t] = sum != 0;
    }
    SYNC;
}
