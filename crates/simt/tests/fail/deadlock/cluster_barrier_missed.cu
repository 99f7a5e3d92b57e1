// One thread stays in a loop of its own, waiting for what comes behind the cluster's barrier.
extern "C" __global__ void wait() {
    __shared__ volatile int go;
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x == 0) go = 0;
    __syncthreads();
    if (rank == 1 && threadIdx.x == 0) {
        while (go == 0) {} //~ ERROR[deadlock]
    }
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory"); //~ ERROR[deadlock]
    if (threadIdx.x == 0) go = 1;
}
