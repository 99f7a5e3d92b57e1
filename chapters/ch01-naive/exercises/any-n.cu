// Exercise any-n: two elements a thread, summed in place in global memory, for any number of elements.
//
// Thread t of a block owns elements 2t and 2t + 1 of the block's slice. In the round with this stride, a thread adds the
// element `stride` further on to its first one. Blocks are a power of two; out gets one sum a block.

// ANCHOR: starter
template <typename T>
__device__ void any_n(T* data, T* out, unsigned int n) {
    unsigned int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);

    for (unsigned int stride = 1; stride < blockDim.x; stride *= 2) { // TODO: which round is the last?
        if (threadIdx.x % stride == 0) { // TODO: and if there is no element at i + stride?
            data[i] += data[i + stride];
        }
        // TODO: what do the threads of the next round rely on?
    }

    if (threadIdx.x == 0) {
        out[blockIdx.x] = data[i];
    }
}
// ANCHOR_END: starter

extern "C" __global__ void any_n_i32(unsigned int* data, unsigned int* out, unsigned int n) {
    any_n(data, out, n);
}
extern "C" __global__ void any_n_f32(float* data, float* out, unsigned int n) {
    any_n(data, out, n);
}
