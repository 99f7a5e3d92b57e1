// Chapter 3's kernel with dynamic shared memory: its size is an argument of the launch and not a constant of the program.

// ANCHOR: aside
extern "C" __global__ void dynamic_shared_i32(const unsigned int* in, unsigned int* out, unsigned int n) {
    extern __shared__ unsigned int sums[]; // as many bytes as the launch asks for
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + tid;
    sums[tid] = i < n ? in[i] : 0;
    // ANCHOR_END: aside
    __syncthreads();

    for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) {
            sums[tid] += sums[tid + s];
        }
        __syncthreads();
    }

    if (tid == 0) {
        out[blockIdx.x] = sums[0];
    }
}
