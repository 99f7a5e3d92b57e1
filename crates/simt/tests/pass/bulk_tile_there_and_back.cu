// One thread waits for the tile that it has fetched, and a barrier follows; the tile is doubled, stored, and filled again for
// a sum of all blocks, which the copies add up themselves (sm_90).
extern "C" __global__ void tile(const int *in, int *doubled, int *sums)
{
    __shared__ alignas(16) int values[64];
    __shared__ alignas(8) unsigned long long object;
    unsigned t = threadIdx.x, tile = (unsigned)__cvta_generic_to_shared(values), full = (unsigned)__cvta_generic_to_shared(&object);
    if (t == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(full) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" :: "r"(full) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" :: "r"(tile), "l"(in + 64 * blockIdx.x), "r"(full) : "memory");
        asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra again; }" :: "r"(full) : "memory");
    }
    __syncthreads();
    int mine = values[63 - t];
    __syncthreads();
    values[t] = 2 * mine;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;" :: "l"(doubled + 64 * blockIdx.x), "r"(tile) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
    __syncthreads();
    values[t] = mine;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], 256;" :: "l"(sums), "r"(tile) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
}
