// The barrier object is in memory that something else was in: nobody has made it one.
extern "C" __global__ void meet(int *out)
{
    __shared__ unsigned long long object;
    object = 0;
    __syncthreads();
    unsigned all = (unsigned)__cvta_generic_to_shared(&object);
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(all) : "memory"); //~ ERROR[uninitialised-read]
    out[threadIdx.x] = 1;
}
