// Each lane waits for a word of its own, which another block writes one after the other, and answers: the lanes leave the
// loop one by one, and go on together (on a card that is a matter of time). 32 words sent, one sector each, and 32 answers in
// four sectors.
extern "C" __global__ void lanes_wait_together(unsigned* words, unsigned* answers) {
    unsigned t = threadIdx.x;
    if (blockIdx.x > 0) {
        // Block b sends word b - 1.
        unsigned* word = words + 8 * (blockIdx.x - 1);
        if (t == 0) asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(blockIdx.x) : "memory");
        return;
    }
    unsigned seen;
    do {
        asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(words + 8 * t) : "memory");
    } while (seen == 0);
    answers[t] = seen;
}
