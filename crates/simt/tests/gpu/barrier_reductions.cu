// Barriers that count and combine a predicate, in a block whose last warp is half full.
// simt: --kernel barrier_reductions --grid 3 --block 80 --arg in=u32[240]:hash8 --arg out=u32[720]:zero --print out
extern "C" __global__ void barrier_reductions(const unsigned* in, unsigned* out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = in[i];
    out[3 * i] = __syncthreads_count(x > 100);
    out[3 * i + 1] = __syncthreads_and(x < 250 + blockIdx.x * 3);
    out[3 * i + 2] = __syncthreads_or(x == 77) + 2 * __syncthreads_or(x > 200);
}
