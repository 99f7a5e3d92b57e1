// The barrier object is told to expect 256 bytes, and half of them are copied.
extern "C" __global__ void tile(const int *in, int *out)
{
    __shared__ alignas(16) int values[64];
    __shared__ alignas(8) unsigned long long object;
    unsigned t = threadIdx.x, to = (unsigned)__cvta_generic_to_shared(values), full = (unsigned)__cvta_generic_to_shared(&object), over = 0;
    if (t == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(full) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" :: "r"(full) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 128, [%2];" :: "r"(to), "l"(in), "r"(full) : "memory");
    }
    __syncthreads();
    while (!over) {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(over) : "r"(full) : "memory"); //~ ERROR[deadlock]
    }
    out[t] = values[63 - t];
}
