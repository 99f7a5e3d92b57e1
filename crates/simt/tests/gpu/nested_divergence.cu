// Conditions inside conditions, each on another bit of the lane.
// simt: --kernel nested_divergence --grid 1 --block 64 --arg out=u32[64]:zero --print out
extern "C" __global__ void nested_divergence(unsigned* out) {
    unsigned i = threadIdx.x, v = i;
    if (i & 1) {
        v = v * 5 + 1;
        if (i & 2) {
            v ^= 0x33;
            if (i & 4) v += 100;
            else if (i & 8) v -= 50;
            else v *= 7;
            v += __popc(v);
        } else {
            for (unsigned k = 0; k < (i & 12); ++k) v += (i & 16) ? k : 2 * k;
        }
    } else if (i & 4) {
        while (v > 10) v = (i & 32) ? v - 9 : v / 2;
    } else {
        v = (i & 8) ? v + 1000 : v + 2000;
    }
    out[i] = v;
}
