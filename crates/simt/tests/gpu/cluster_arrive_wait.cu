// The barrier of a cluster in two parts, with work of its own between them.
// simt: --kernel cluster_arrive_wait --grid 6 --block 64 --cluster 3 --arg out=u32[384]:zero --print out
extern "C" __global__ void cluster_arrive_wait(unsigned* out) {
    __shared__ unsigned s[64];
    unsigned t = threadIdx.x, rank, address, next, sum = 0;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm("{ .reg .u64 a; cvta.to.shared.u64 a, %1; cvt.u32.u64 %0, a; }" : "=r"(address) : "l"(s + t));
    for (unsigned round = 0; round < 3; round++) {
        s[t] = t * (rank + 1) + round;
        asm volatile("barrier.cluster.arrive;" ::: "memory");
        unsigned own = 0;
        for (unsigned i = 0; i <= t % 8; i++) own += i * round;
        asm volatile("barrier.cluster.wait;" ::: "memory");
        asm volatile("{ .reg .u32 there; mapa.shared::cluster.u32 there, %1, %2; ld.shared::cluster.u32 %0, [there]; }"
                     : "=r"(next) : "r"(address), "r"((rank + 1) % 3) : "memory");
        sum = sum * 7 + next + own;
        asm volatile("barrier.cluster.arrive.release; barrier.cluster.wait.acquire;" ::: "memory");
    }
    out[blockIdx.x * 64 + t] = sum;
}
