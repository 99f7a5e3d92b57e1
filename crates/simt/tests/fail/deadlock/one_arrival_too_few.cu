// The barrier object expects one thread more than the block has.
extern "C" __global__ void meet(int *out)
{
    __shared__ alignas(8) unsigned long long object;
    unsigned all = (unsigned)__cvta_generic_to_shared(&object), over = 0;
    unsigned long long state;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(all), "r"(blockDim.x + 1) : "memory");
    }
    __syncthreads();
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(all) : "memory");
    while (!over) {
        asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(over) : "r"(all), "l"(state) : "memory"); //~ ERROR[deadlock]
    }
    out[threadIdx.x] = 1;
}
