// Control flow: a dense switch, nested loops that are not unrolled, labels in inline assembly, early exits.
extern "C" __global__ void __launch_bounds__(256, 2) control(const int* in, int* out, int n) {
    int x = in[threadIdx.x], r = 0;
    if (threadIdx.x >= n) return;
    switch (x) {
        case 0: r = n * 3; break;
        case 1: r = n / 3; out[1] = 4; break;
        case 2: r = __clz(n); out[2] = 5; break;
        case 3: r = n << 4; out[3] = 6; break;
        case 4: r = n ^ x; out[4] = 7; break;
        case 5: out[5] = 8; __trap();
        case 6: r = -n; __nanosleep(40); break;
        default: asm volatile("exit;");
    }
#pragma unroll 1
    for (int i = 0; i < n; ++i) {
#pragma unroll 1
        for (int j = i; j < x; ++j) {
            if ((i ^ j) % 7 == 3) continue;
            if (r > 1000000) goto done;
            r += in[i] * in[j];
        }
        while (*(volatile int*)(in + i) < 0) __brkpt();
    }
done:
    asm volatile("{\n\t.reg .pred p;\n\tsetp.lt.s32 p, %0, 0;\n\t@p bra skip;\n\tadd.s32 %0, %0, 1;\n\tskip:\n\t}" : "+r"(r));
    asm volatile("{\n\t.reg .pred p;\n\tsetp.lt.s32 p, %0, 9;\n\t@p bra skip;\n\tadd.s32 %0, %0, 1;\n\tskip:\n\tpmevent 2;\n\t}" : "+r"(r));
    if (__builtin_expect(r == 77, 0)) asm volatile("exit;");
    unsigned long long time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    out[threadIdx.x] = r + (int)time;
}
