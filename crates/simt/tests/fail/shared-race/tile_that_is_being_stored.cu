// The tile is filled anew while the bulk copy may still be reading it.
extern "C" __global__ void tiles(const int *in, int *out)
{
    __shared__ alignas(16) int values[64];
    unsigned t = threadIdx.x, from = (unsigned)__cvta_generic_to_shared(values);
#pragma unroll 1
    for (int tile = 0; tile < 2; tile++) {
        values[t] = 2 * in[64 * tile + t]; //~ ERROR[shared-race]
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        if (t == 0) {
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;" :: "l"(out + 64 * tile), "r"(from) : "memory");
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        }
        __syncthreads();
    }
    if (t == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
