// CUDA's functions of bytes and half words side by side, some of which become packed video instructions.
extern "C" __global__ void packed_bytes(unsigned* out) {
    unsigned t = threadIdx.x;
    unsigned a = 0x7f80ff01u + t * 0x1d2b3947u, b = 0x80007efeu - t * 0x05a7c3e9u, c = a * 5 + b;
    out += t * 8;
    out[0] = __vabsdiffu4(a, b);
    out[1] = __vsadu4(a, b);
    out[2] = __vabsdiffs4(a, b) ^ __vsads4(b, c);
    out[3] = __vabsdiffu2(a, b) ^ __vsadu2(b, c);
    out[4] = __vadd4(a, b) ^ __vsub2(b, c);
    out[5] = __vaddss2(a, b) ^ __vsubus4(b, c);
    out[6] = __vavgs2(a, b) ^ __vavgu4(b, c);
    out[7] = __vmaxs4(a, b) ^ __vminu2(b, c) ^ __vcmpgts4(a, c) ^ __vsetltu2(b, c);
}
