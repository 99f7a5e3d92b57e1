// Arrays in local memory, indexed by data; bytes and halves side by side.
// simt: --kernel local_histogram --grid 2 --block 64 --arg in=u32[2048]:hash8 --arg out=u32[128]:zero --print out
extern "C" __global__ void local_histogram(const unsigned* in, unsigned* out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned char bins[16];
    unsigned short sums[16];
    for (int k = 0; k < 16; ++k) { bins[k] = 0; sums[k] = (unsigned short)(k * 4000); }
    for (int k = 0; k < 16; ++k) {
        unsigned x = in[i * 16 + k];
        bins[x & 15] += 17;
        sums[(x >> 4) & 15] += (unsigned short)(x * 257);
    }
    unsigned hash = 0;
    for (int k = 0; k < 16; ++k) hash = hash * 31 + bins[k] * 65536u + sums[15 - k];
    out[i] = hash;
}
