// Jumps into the middle of loops: control flow that no structured program has.
// simt: --kernel irreducible --grid 2 --block 64 --arg in=u32[128]:hash8 --arg out=u32[128]:zero --print out
extern "C" __global__ void irreducible(const unsigned* in, unsigned* out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = in[i], count = 0;
    if (x & 1) goto second;
    if (x & 2) goto third;
first:
    x = x * 3 + 1;
    if (++count > 12) goto end;
second:
    x ^= i;
    if (x % 5 == 0) goto first;
    ++count;
third:
    x += 7;
    if (x % 3 == 1 && count < 20) goto second;
    if (count < 9) goto first;
end:
    out[i] = x * 100 + count;
}
