// Each thread counts in an array of its own. It clears one half of it, and nobody asks for the counts in the other.
extern "C" __global__ void count(const unsigned *in, unsigned *out)
{
    unsigned counts[8];
    for (int k = 0; k < 4; k++) {
        counts[k] = 0;
    }
    #pragma unroll 1
    for (int k = 0; k < 16; k++) {
        counts[in[16 * threadIdx.x + k] & 7]++;
    }
    #pragma unroll 1
    for (int k = 0; k < 4; k++) {
        out[4 * threadIdx.x + k] = counts[k];
    }
}
