// All bytes are told to the barrier object, and nobody asks it: a barrier of the block says nothing of a copy.
extern "C" __global__ void tile(const int *in, int *out)
{
    __shared__ alignas(16) int values[64];
    __shared__ alignas(8) unsigned long long object;
    unsigned t = threadIdx.x, to = (unsigned)__cvta_generic_to_shared(values), full = (unsigned)__cvta_generic_to_shared(&object);
    if (t == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(full) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" :: "r"(full) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" :: "r"(to), "l"(in), "r"(full) : "memory");
    }
    __syncthreads();
    out[t] = values[63 - t]; //~ ERROR[shared-race]
    asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra again; }" :: "r"(full) : "memory");
}
