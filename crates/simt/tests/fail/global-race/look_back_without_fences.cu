// Value and flag are two volatile words with no fence between them: the flag may be seen before the value.
extern "C" __global__ void scan(const int* in, volatile int* sums, volatile unsigned* flags, int* out) {
    unsigned b = blockIdx.x;
    if (threadIdx.x != 0) return;
    int before = 0;
    if (b > 0) {
        while (flags[b - 1] == 0) {}
        before = sums[b - 1]; //~ ERROR[global-race]
    }
    sums[b] = before + in[b];
    flags[b] = 1;
    out[b] = before + in[b];
}
