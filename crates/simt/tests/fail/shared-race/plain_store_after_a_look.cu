// One warp clears a slot that the other may still be looking at: the store is plain, the look is not.
extern "C" __global__ void clear(int* out) {
    __shared__ int slot;
    unsigned t = threadIdx.x;
    if (t == 0) slot = 7;
    __syncthreads();
    if (t == 0) {
        volatile int* look = &slot;
        if (*look == 7) out[0] = 1;
    }
    if (t == 32) slot = 0; //~ ERROR[shared-race]
    __syncthreads();
    if (t == 0) out[1] = slot;
}
