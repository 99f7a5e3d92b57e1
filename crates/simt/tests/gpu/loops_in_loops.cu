// Three loops in one another, each with a trip count of its own in every lane, left from the innermost by `goto` and `return`.
// simt: --kernel loops_in_loops --grid 2 --block 96 --arg in=u32[192]:hash8 --arg out=u32[192]:zero --print out
extern "C" __global__ void loops_in_loops(const unsigned* in, unsigned* out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = in[i], sum = 0;
    #pragma unroll 1
    for (unsigned a = 0; a < x % 5 + 1; a++) {
        #pragma unroll 1
        for (unsigned b = a; b < (x >> 2) % 7 + a; b++) {
            unsigned c = 0;
            #pragma unroll 1
            do {
                sum = sum * 31 + a * 9 + b * 3 + c;
                if ((sum ^ i) % 53 == 7) goto next;
                if ((sum & 0xff) == 0x91) { out[i] = sum ^ 0xabcd; return; }
                if (sum % 11 == 3) continue;
                sum += i;
            } while (++c < (sum & 3) + (i & 3));
        }
        sum ^= 0x55;
    next:
        sum += 7;
    }
    out[i] = sum;
}
