// One block waits for the cluster without having arrived.
extern "C" __global__ void wait() {
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (rank == 0) asm volatile("barrier.cluster.arrive;" ::: "memory");
    asm volatile("barrier.cluster.wait;" ::: "memory"); //~ ERROR[deadlock]
}
