// Every thread stages its part and fences, a barrier follows, and one thread counts the block; the block that was last fences
// again and reads what all have staged.
extern "C" __global__ void reduce(const int* in, int* staging, int* semaphore, int* out) {
    __shared__ bool is_last;
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    staging[i] = 2 * in[i];
    __threadfence();
    __syncthreads();
    if (t == 0) is_last = atomicAdd(semaphore, 1) == gridDim.x - 1;
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    int sum = 0;
    for (unsigned b = 0; b < gridDim.x; b++) sum += staging[b * blockDim.x + t];
    out[t] = sum;
}
