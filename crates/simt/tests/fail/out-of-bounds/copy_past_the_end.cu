// The last threads have no element left, and copy all the same.
extern "C" __global__ void copy(const int *in, int *out)
{
    __shared__ int tile[64];
    unsigned t = threadIdx.x, to = (unsigned)__cvta_generic_to_shared(&tile[t]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(in + t) : "memory"); //~ ERROR[out-of-bounds]
    asm volatile("cp.async.wait_all;" ::: "memory");
    if (t < 50) {
        out[t] = tile[t];
    }
}
