// One buffer for all rounds, and no barrier at the end of a round: the next copy overwrites what slower warps still read.
extern "C" __global__ void rounds(const int *in, int *out, int n)
{
    __shared__ int tile[128];
    unsigned t = threadIdx.x, to = (unsigned)__cvta_generic_to_shared(&tile[t]);
    #pragma unroll 1
    for (int k = 0; k < n; k++) {
        const int *from = &in[128 * k + t];
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(from) : "memory"); //~ ERROR[shared-race]
        asm volatile("cp.async.wait_all;" ::: "memory");
        __syncthreads();
        out[128 * k + t] = tile[127 - t]; //~ ERROR[shared-race]
    }
}
