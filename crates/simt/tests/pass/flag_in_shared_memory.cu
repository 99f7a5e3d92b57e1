// One warp hands a value to another through a flag in shared memory, with fences of the block.
extern "C" __global__ void pass_on(int* out) {
    __shared__ int value;
    __shared__ unsigned flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        value = 42;
        __threadfence_block();
        atomicExch(&flag, 1);
    } else if (threadIdx.x == 32) {
        while (atomicAdd(&flag, 0) == 0) {}
        __threadfence_block();
        *out = value;
    }
}
