// Nested loops left and continued from inside, by lane.
// simt: --kernel break_continue --grid 2 --block 96 --arg in=u32[192]:hash8 --arg out=u32[192]:zero --print out
extern "C" __global__ void break_continue(const unsigned* in, unsigned* out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = in[i], sum = 0;
    for (unsigned a = 0; a < 8; ++a) {
        if ((x >> a) & 1) continue;
        for (unsigned b = 0;; ++b) {
            if (b * a > x % 29) break;
            if ((a + b + i) % 3 == 0) continue;
            if (b > 20) break;
            sum += a * 10 + b;
            if (sum > 2000) goto done;
        }
        if (sum % 7 == 5) break;
        sum += 1;
    }
done:
    out[i] = sum;
}
