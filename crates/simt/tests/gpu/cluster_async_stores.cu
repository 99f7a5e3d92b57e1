// Warps of two blocks send values to both for sixteen turns, into two places by turns, and a barrier object in each block
// says when all have come. Lane 0 stores into the first block and lane 1 into the second.
// simt: --kernel cluster_async_stores --grid 2 --block 64 --cluster 2 --arg out=u32[4]:zero --print out
#define SYNC asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory")
extern "C" __global__ void cluster_async_stores(unsigned* out) {
    __shared__ alignas(16) unsigned values[2][4][2];
    __shared__ alignas(8) unsigned long long arrived[2];
    unsigned t = threadIdx.x, lane = t % 32, from = blockIdx.x * 2 + t / 32;
    unsigned object = (unsigned)__cvta_generic_to_shared(arrived), bytes = sizeof(values[0]);
    if (t == 0) {
        for (unsigned i = 0; i < 2; i++)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(object + 8 * i) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        for (unsigned i = 0; i < 2; i++)
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(object + 8 * i), "r"(bytes) : "memory");
    }
    SYNC;
    unsigned x = from + 1;
#pragma unroll 1
    for (unsigned turn = 0; turn < 16; turn++) {
        unsigned place = (unsigned)__cvta_generic_to_shared(values[turn % 2][from]), counts = object + turn % 2 * 8, over = 0;
        // The reads of the turn before come first.
        __syncwarp();
        if (lane < 2)
            asm volatile("{ .reg .u32 to, counted; mapa.shared::cluster.u32 to, %0, %2; mapa.shared::cluster.u32 counted, %1, %2;"
                         "  st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [to], {%3, %4}, [counted]; }"
                         ::"r"(place), "r"(counts), "r"(lane), "r"(x), "r"(x + turn) : "memory");
        while (!over)
            asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                         : "=r"(over) : "r"(counts), "r"(turn / 2 % 2) : "memory");
        if (t == 0)
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(counts), "r"(bytes) : "memory");
        unsigned sum = from;
        for (unsigned i = 0; i < 4; i++) sum += values[turn % 2][i][0] + values[turn % 2][i][1];
        x = sum;
    }
    if (lane == 0) out[from] = x;
    SYNC;
}
