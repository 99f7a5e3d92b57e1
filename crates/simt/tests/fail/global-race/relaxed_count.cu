// A count made of a relaxed load and a relaxed store, which are no one step.
extern "C" __global__ void count(int* c) {
    int old;
    asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(old) : "l"(c) : "memory"); //~ ERROR[global-race]
    asm volatile("st.relaxed.gpu.global.s32 [%0], %1;" ::"l"(c), "r"(old + 1) : "memory"); //~ ERROR[global-race]
}
