// Reductions of several elements at once into global memory, as sm_90 has them.
// simt: --kernel vector_atomics --grid 2 --block 64 --arg f=f32[8]:zero --arg h=u32[12]:zero --print f --print h
extern "C" __global__ void vector_atomics(float* f, unsigned* h) {
    float x = threadIdx.x % 4, y = blockIdx.x;
    asm volatile("red.relaxed.gpu.global.add.v2.f32 [%0], {%1, %2};" ::"l"(f), "f"(x), "f"(y) : "memory");
    asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(f + 4), "f"(x), "f"(y), "f"(1.0f), "f"(-0.5f) : "memory");
    asm volatile("red.global.add.noftz.v2.f16x2 [%0], {%1, %2};" ::"l"(h), "r"(0x3c003800), "r"(0x00003c00) : "memory");
    asm volatile("red.global.max.noftz.v4.bf16x2 [%0], {%1, %2, %3, %4};"
                 ::"l"(h + 4), "r"(0x3f803f00 + threadIdx.x), "r"(0), "r"(0x40004000), "r"(0x3f80bf80) : "memory");
    float a, b;
    asm volatile("atom.global.add.v2.f32 {%0, %1}, [%2], {%3, %4};" : "=f"(a), "=f"(b) : "l"(f + 2), "f"(1.0f), "f"(2.0f) : "memory");
    if (a < 0 || b < a) h[8] = 1;
}
