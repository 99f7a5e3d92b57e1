// Exercise any-block: sequential addressing for every block size, 96 and 1000 as well as 1024.
//
// Half of an odd number of sums is no whole number. Which sum has no partner, and where does it have to be in the next
// round? out gets one sum a block.

constexpr unsigned int MAX_BLOCK = 1024;

// ANCHOR: starter
template <typename T>
__device__ void any_block(const T* in, T* out, unsigned int n) {
    __shared__ T sums[MAX_BLOCK];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + tid;
    sums[tid] = i < n ? in[i] : T(0);
    __syncthreads();

    // TODO: this loses a sum whenever a round begins with an odd number of them.
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
// ANCHOR_END: starter

extern "C" __global__ void any_block_i32(const unsigned int* in, unsigned int* out, unsigned int n) {
    any_block(in, out, n);
}
extern "C" __global__ void any_block_f32(const float* in, float* out, unsigned int n) {
    any_block(in, out, n);
}
