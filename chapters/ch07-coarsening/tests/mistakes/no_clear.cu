// A mistake: segmented_atomic launched onto memory that nobody has cleared. Every block
// adds to what was there before.

constexpr unsigned int MAX_BLOCK = 1024;

extern "C" __global__ void no_clear_i32(const unsigned int* in, unsigned int* out, unsigned int n) {
    __shared__ unsigned int sums[MAX_BLOCK];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (blockDim.x * 2) + tid;

    unsigned int sum = i < n ? in[i] : 0;
    if (i + blockDim.x < n) {
        sum += in[i + blockDim.x];
    }
    sums[tid] = sum;
    __syncthreads();
    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) {
            sums[tid] += sums[tid + s];
        }
        __syncthreads();
    }

    if (tid == 0) {
        atomicAdd(out, sums[0]);
    }
}
