// A loop that is entered at two places and left at three, which place the data decide.
// simt: --kernel two_entries --grid 2 --block 64 --arg in=u32[128]:hash8 --arg out=u32[128]:zero --print out
extern "C" __global__ void two_entries(const unsigned* in, unsigned* out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned v = in[i] + 1, steps = 0, path = 0;
    if (v & 1) goto middle;
top:
    path = path * 3 + 1;
    v = v * 7 + i;
    if (++steps > 20) goto done;
    if ((v & 0xf) == 3) goto other;
middle:
    path = path * 3 + 2;
    v ^= v >> 3;
    if (v % 13 == 5) goto done;
    if (v & 2) goto top;
    v += 11;
    if (++steps > 17) goto done;
    if (v & 4) goto middle;
    goto top;
other:
    path ^= 0x80000000u;
    v += i * 3;
    if (steps & 1) goto middle;
done:
    out[i] = path ^ v ^ (steps << 24);
}
