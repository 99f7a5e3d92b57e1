// The block reads what its bulk copy writes, and waits for it only then.
extern "C" __global__ void tile(const int *in, int *middle, int *out)
{
    __shared__ alignas(16) int values[32];
    unsigned t = threadIdx.x, from = (unsigned)__cvta_generic_to_shared(values);
    values[t] = 2 * in[t];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 128;" :: "l"(middle), "r"(from) : "memory"); //~ ERROR[global-race]
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
    __syncthreads();
    out[t] = middle[31 - t];
    if (t == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
