// Copies that do not wait, barrier objects; for sm_90 clusters, bulk copies and dependent launches.
#include <cuda_pipeline.h>
extern "C" __global__ void async_copy(const int4* in, int4* out, int n) {
    __shared__ int4 tile[2][64];
    __shared__ unsigned long long gate;
    unsigned at = (unsigned)__cvta_generic_to_shared(&gate);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(at), "r"(64));
    __syncthreads();
    __pipeline_memcpy_async(&tile[0][threadIdx.x], in + threadIdx.x, 16);
    __pipeline_memcpy_async(&tile[1][threadIdx.x], in + threadIdx.x + 64, 16, 4);
    __pipeline_commit();
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(at));
    __pipeline_wait_prior(1);
    asm volatile("cp.async.wait_all;");
    unsigned long long state;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(at));
    asm volatile("{\n .reg .pred done;\n again:\n mbarrier.test_wait.shared.b64 done, [%0], %1;\n @!done bra again;\n }" :: "r"(at), "l"(state));
    asm volatile("mbarrier.inval.shared.b64 [%0];" :: "r"(at));
    out[threadIdx.x] = tile[n & 1][threadIdx.x ^ 1];
}
#if __CUDA_ARCH__ >= 900
extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(128) cluster(const float* in, float* out) {
    __shared__ __align__(16) float tile[128];
    __shared__ __align__(8) unsigned long long gate;
    unsigned at = (unsigned)__cvta_generic_to_shared(&gate), to = (unsigned)__cvta_generic_to_shared(tile), rank, peer, parity = 0;
    asm volatile("griddepcontrol.wait;");
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at));
        asm volatile("fence.mbarrier_init.release.cluster;");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(at), "r"(512));
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 512, [%2];" :: "r"(to), "l"(in), "r"(at));
    }
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;");
    asm volatile("{\n .reg .pred p;\n retry:\n mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n @!p bra.uni retry;\n }" :: "r"(at), "r"(parity));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(peer) : "r"(to), "r"(rank ^ 1));
    float far;
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(far) : "r"(peer));
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; @p griddepcontrol.launch_dependents; }");
    out[blockIdx.x * 128 + threadIdx.x] = far + tile[threadIdx.x];
}
#endif
