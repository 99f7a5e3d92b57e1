// A switch of many cases inside a loop, with fall-through.
// simt: --kernel switch_dense --grid 3 --block 96 --arg in=u32[288]:hash8 --arg out=u32[288]:zero --print out
extern "C" __global__ void switch_dense(const unsigned* in, unsigned* out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned value = in[i];
    for (unsigned k = 0; k < 6; ++k) {
        switch ((value + k) % 13) {
            case 0: value += 17; break;
            case 1: value *= 3; break;
            case 2: value ^= 0x55; // falls through
            case 3: value -= 9; break;
            case 4: value = value << 1 | value >> 31; break;
            case 5: value += i; break;
            case 6: value = value / 3; break;
            case 7: value = value * value + 1; break;
            case 8: value |= 0x101; // falls through
            case 9: value &= 0xfff0ffff; break;
            case 10: value = ~value; break;
            case 11: continue;
            default: value += 12345;
        }
        value += k;
    }
    out[i] = value;
}
