// A running sum in one pass: value and flag in two words, both volatile, with a fence between them on both sides.
extern "C" __global__ void scan(const int* in, volatile int* sums, volatile unsigned* flags, int* out) {
    unsigned b = blockIdx.x;
    if (threadIdx.x != 0) return;
    int before = 0;
    if (b > 0) {
        while (flags[b - 1] == 0) {}
        __threadfence();
        before = sums[b - 1];
    }
    sums[b] = before + in[b];
    __threadfence();
    flags[b] = 1;
    out[b] = before + in[b];
}
