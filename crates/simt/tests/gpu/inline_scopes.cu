// Inline assembly with scopes and registers of its own, in a loop and in a function.
// simt: --kernel inline_scopes --grid 1 --block 64 --arg out=u32[64]:zero --print out
__device__ __noinline__ unsigned twist(unsigned x, unsigned y) {
    unsigned r;
    asm("{\n\t.reg .u32 t, u;\n\t.reg .pred p;\n\tadd.u32 t, %1, %2;\n\t{\n\t.reg .u32 t;\n\tmul.lo.u32 t, %1, 3;\n\tmov.u32 u, t;\n\t}\n\t"
        "setp.gt.u32 p, t, 40;\n\t@p xor.b32 u, u, 0x5a;\n\tadd.u32 %0, t, u;\n\t}" : "=r"(r) : "r"(x), "r"(y));
    return r;
}

extern "C" __global__ void inline_scopes(unsigned* out) {
    unsigned i = threadIdx.x, v = i;
    for (int k = 0; k < 3; ++k) {
        asm("{\n\t.reg .b64 wide;\n\tmul.wide.u32 wide, %0, 0x9e3779b9;\n\t{\n\t.reg .b32 lo, hi;\n\tmov.b64 {lo, hi}, wide;\n\txor.b32 %0, lo, hi;\n\t}\n\t}" : "+r"(v));
        v = twist(v, i + k);
    }
    out[i] = v;
}
