// Two phases of one launch, with a barrier of the grid between: what the first wrote the second reads through the cache for constant
// data.
extern "C" __global__ void phases(int* twice, int* out, unsigned* count) {
    unsigned t = threadIdx.x;
    twice[blockIdx.x * 32 + t] = 2 * (blockIdx.x * 32 + t);
    __syncthreads();
    if (t == 0) {
        __threadfence();
        atomicAdd(count, 1);
        while (atomicAdd(count, 0) < gridDim.x) {}
        __threadfence();
    }
    __syncthreads();
    out[blockIdx.x * 32 + t] = __ldg(twice + (blockIdx.x + 1) % gridDim.x * 32 + t); //~ ERROR[global-race]
}
