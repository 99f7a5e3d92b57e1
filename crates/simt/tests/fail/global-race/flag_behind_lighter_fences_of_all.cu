// Every thread fences for itself, a barrier follows, and one thread sets the flag: that would do with fences that have an order
// among themselves, as `__threadfence()` has. These have none.
extern "C" __global__ void hand_on(int *data, int *flag, int *out)
{
    unsigned t = threadIdx.x;
    if (blockIdx.x == 0) {
        data[t] = 3 * t;
        asm volatile("fence.acq_rel.gpu;" ::: "memory");
        __syncthreads();
        if (t == 0) atomicExch(flag, 1);
    } else {
        if (t == 0) while (atomicAdd(flag, 0) == 0) {}
        __syncthreads();
        asm volatile("fence.acq_rel.gpu;" ::: "memory");
        out[t] = data[63 - t]; //~ ERROR[global-race]
    }
}
