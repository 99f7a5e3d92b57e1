// A function with many returns, some inside loops; lanes come back at different times and go on together.
// simt: --kernel early_returns --grid 2 --block 96 --arg in=u32[192]:hash8 --arg out=u32[192]:zero --arg ballots=u32[6]:zero --print out --print ballots
__device__ __noinline__ unsigned classify(unsigned x, unsigned i) {
    if (x < 40) return 1;
    for (unsigned d = 2; d * d <= x; ++d) {
        if (x % d == 0) {
            if (d > 5) return d * 100;
            for (unsigned k = 0; k < 4; ++k)
                if ((x + k * i) % 11 == 3) return 7 + k;
            return d;
        }
    }
    if (i & 4) return x;
    return 0;
}

extern "C" __global__ void early_returns(const unsigned* in, unsigned* out, unsigned* ballots) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned kind = classify(in[i], i);
    unsigned large = __ballot_sync(0xffffffffu, kind >= 100);
    out[i] = kind;
    if (i % 32 == 0) ballots[i / 32] = large;
}
