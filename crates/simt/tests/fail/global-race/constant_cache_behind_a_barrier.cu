// Each block doubles its numbers in memory, and reads its neighbours' back behind a barrier, through the cache for constant data.
extern "C" __global__ void double_and_shift(const int* in, int* twice, int* out) {
    unsigned t = threadIdx.x, i = blockIdx.x * 64 + t;
    twice[i] = 2 * in[i];
    __syncthreads();
    out[i] = __ldg(twice + blockIdx.x * 64 + (t + 1) % 64); //~ ERROR[global-race]
}
