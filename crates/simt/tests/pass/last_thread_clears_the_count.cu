// The last thread of a block to count itself puts the count back plainly, in shared memory.
extern "C" __global__ void last_thread(unsigned* out) {
    __shared__ unsigned count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    if (atomicAdd(&count, 1) == blockDim.x - 1) count = 0;
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = count;
}
