// Loops whose trip count differs from lane to lane.
// simt: --kernel collatz --grid 3 --block 96 --arg out=u32[288]:zero --arg n=u32:285 --print out
extern "C" __global__ void collatz(unsigned* out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned steps = 0;
    for (unsigned value = i + 1; value != 1; ++steps) value = value & 1 ? 3 * value + 1 : value / 2;
    out[i] = steps;
}
