// A barrier of the grid made of a counter that is polled through volatile, with fences on both sides. All data is volatile.
__device__ void grid_barrier(unsigned* arrived, unsigned goal) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1);
        while (*(volatile unsigned*)arrived < goal) {}
        __threadfence();
    }
    __syncthreads();
}

extern "C" __global__ void steps(volatile int* a, volatile int* b, unsigned* arrived) {
    unsigned n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned step = 0; step < 3; step++) {
        if (step % 2 == 0) b[i] = a[i] + a[(i + 33) % n];
        else a[i] = b[i] - b[(i + 65) % n];
        grid_barrier(arrived, (step + 1) * gridDim.x);
    }
}
