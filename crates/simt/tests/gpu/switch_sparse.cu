// Switches on scattered numbers, one inside the other, with fall-through and a jump out of both.
// simt: --kernel switch_sparse --grid 3 --block 96 --arg in=u32[288]:hash8 --arg out=u32[288]:zero --print out
extern "C" __global__ void switch_sparse(const unsigned* in, unsigned* out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned v = in[i] * 37, r = i;
    for (int k = 0; k < 9; k++) {
        switch (v & 0xfff) {
            case 3: case 77: case 148: r += 5; break;
            case 370: r ^= 0x1111;
            case 999: r *= 3; break;
            case 2048: goto out;
            default:
                switch ((v >> 3) % 1001) {
                    case 0: r += 1000; continue;
                    case 17: r -= v; break;
                    case 500: goto out;
                    default: r = r * 5 + (v & 7);
                }
                r ^= k;
        }
        v = v * 1664525u + 1013904223u;
        v ^= v >> 11;
        if (k == 5) v &= 0x3ff;
    }
out:
    out[i] = r + __popc(v);
}
