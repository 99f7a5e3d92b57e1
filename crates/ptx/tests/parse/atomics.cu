// Every kind of atomic, several scopes, loads and stores with an order.
typedef unsigned long long u64;
__device__ int global_counter = -125;
extern "C" __global__ void atomics(int* i, unsigned* u, u64* w, float* f, double* d) {
    __shared__ int shared_i;
    __shared__ u64 shared_w;
    if (threadIdx.x == 0) { shared_i = 0; shared_w = 7; }
    __syncthreads();
    int a = atomicAdd(i, 1) + atomicSub(i + 1, 2) + atomicMin(i + 2, 3) + atomicMax(i + 3, -4) + atomicAnd(i + 4, 5) + atomicExch(i + 5, 6);
    a += atomicOr(u, 1u) + atomicXor(u + 1, 2u) + atomicInc(u + 2, 9u) + atomicDec(u + 3, 9u) + atomicCAS(u + 4, 1u, 2u) + atomicMax(u + 5, 3u);
    w[8] = atomicAdd(w, 1ull) + atomicCAS(w + 1, 2ull, 3ull) + atomicMax(w + 2, 4ull) + atomicExch(w + 3, 5ull) + atomicAdd_block(w + 4, 1ull);
    f[1] = atomicAdd(f, 1.0f) + atomicExch(f + 2, 2.0f) + (float)atomicAdd(d, 3.0) + atomicAdd_system(f + 3, 4.0f);
    atomicAdd(&shared_i, a); atomicMin(&shared_i, 3); atomicCAS(&shared_w, 1ull, 2ull); atomicAdd(&shared_w, 9ull);
    atomicAdd(&global_counter, shared_i); atomicMin(i + 9, 1); atomicOr(u + 9, 4u);
    unsigned v;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(u) : "memory");
    asm volatile("st.release.sys.global.u32 [%0], %1;" :: "l"(u + 1), "r"(v) : "memory");
    asm volatile("st.relaxed.cta.global.u32 [%0+8], %1;" :: "l"(u + 1), "r"(v) : "memory");
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" :: "l"(u) : "memory");
    asm volatile("atom.acq_rel.sys.global.exch.b32 %0, [%1], 5;" : "=r"(v) : "l"(u) : "memory");
    asm volatile("fence.acq_rel.gpu; fence.sc.cta; membar.gl; membar.sys;" ::: "memory");
    __threadfence(); __threadfence_block(); __threadfence_system();
}
