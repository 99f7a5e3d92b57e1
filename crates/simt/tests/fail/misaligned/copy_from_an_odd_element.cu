// Sixteen bytes are copied at once, from the second element of the array on.
extern "C" __global__ void copy(const int *in, int *out)
{
    __shared__ int4 tile[32];
    unsigned t = threadIdx.x, to = (unsigned)__cvta_generic_to_shared(&tile[t]);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(in + 1 + 4 * t) : "memory"); //~ ERROR[misaligned]
    asm volatile("cp.async.wait_all;" ::: "memory");
    out[t] = t;
}
