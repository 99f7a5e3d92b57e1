// A maximum of floats, built from compare-and-swap, and a minimum kept in the bytes of one word.
// simt: --kernel compare_and_swap_loop --grid 4 --block 64 --arg in=f32[256]:rand(11) --arg best=f32[2]:const(-9) --arg packed=u32[1]:const(4294967295) --print best --print packed
extern "C" __global__ void compare_and_swap_loop(const float* in, float* best, unsigned* packed) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    unsigned* place = (unsigned*)best + i % 2;
    unsigned seen = *(volatile unsigned*)place, next;
    do {
        next = seen;
        if (__uint_as_float(seen) >= x) break;
        seen = atomicCAS(place, next, __float_as_uint(x));
    } while (seen != next);
    unsigned shift = i % 4 * 8, value = (unsigned)((x + 1) * 100);
    unsigned word = *(volatile unsigned*)packed, was;
    do {
        was = word;
        if ((word >> shift & 255) <= value) break;
        word = atomicCAS(packed, was, (was & ~(255u << shift)) | value << shift);
    } while (word != was);
}
