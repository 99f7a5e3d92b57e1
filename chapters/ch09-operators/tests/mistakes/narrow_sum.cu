// A mistake: bytes added up in 16 bits. 257 of the largest, 255, come to 65,535, the most that they hold; 258 overflow them.

// ANCHOR: mistake
extern "C" __global__ void narrow_sum_u8(const unsigned char* in,
                                         long long* out, unsigned int n) {
    __shared__ unsigned short sums[256];
    unsigned short sum = 0;
    for (unsigned int i = threadIdx.x; i < n; i += 256) sum += in[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) *out = sums[0];
}
// ANCHOR_END: mistake
