// Additions of floats and of 64 bits in shared memory where lanes meet in a bank with different words: one lane of a bank a round.
// simt: --kernel shared_bank_rounds --grid 1 --block 32 --arg zero=u32[32]:zero --arg floats=f32[256]:zero --arg wide=u64[256]:zero --print floats --print wide
extern "C" __global__ void shared_bank_rounds(const unsigned* zero, float* floats, unsigned long long* wide) {
    __shared__ float f[256];
    __shared__ unsigned long long w[256];
    unsigned t = threadIdx.x;
    for (unsigned i = t; i < 256; i += 32) {
        f[i] = 0;
        w[i] = 0;
    }
    __syncwarp();
    unsigned place = t + zero[t];
    atomicAdd(f + place % 8 * 32, (float)t);
    __syncwarp();
    atomicAdd(f + place * 2, 1.0f);
    __syncwarp();
    atomicAdd(w + place % 16 * 16, (unsigned long long)t);
    __syncwarp();
    atomicAdd(w + place * 4, 1ull);
    __syncwarp();
    atomicMax(w + place % 8 * 16, (unsigned long long)(t + 3));
    __syncwarp();
    for (unsigned i = t; i < 256; i += 32) {
        floats[i] = f[i];
        wide[i] = w[i];
    }
}
