// Threads end inside a function called in a loop; the others go on.
// simt: --kernel exit_inside --grid 2 --block 64 --arg out=u32[128]:zero --print out
__device__ __noinline__ unsigned step(unsigned x, unsigned k, unsigned* out) {
    if ((x + k) % 19 == 0) {
        *out = 10000 + x;
        asm volatile("exit;");
    }
    return x * 5 + k;
}

extern "C" __global__ void exit_inside(unsigned* out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, x = i;
    for (unsigned k = 0; k < 12; ++k) x = step(x, k, out + i) % 1000;
    out[i] = x;
}
