// A table of functions, called by an index that differs from lane to lane.
// simt: --kernel function_table --grid 3 --block 96 --arg in=u32[288]:hash8 --arg out=u32[288]:zero --print out
typedef unsigned (*Step)(unsigned, unsigned);
__device__ unsigned add(unsigned a, unsigned b) { return a + b; }
__device__ unsigned times(unsigned a, unsigned b) { return a * (b | 1); }
__device__ unsigned mix(unsigned a, unsigned b) { return (a ^ b) * 2654435761u; }
__device__ unsigned spin(unsigned a, unsigned b) {
    for (unsigned k = 0; k < b % 7; ++k) a = a << 3 | a >> 29;
    return a;
}
__device__ Step steps[4] = {add, times, mix, spin};

extern "C" __global__ void function_table(const unsigned* in, unsigned* out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned value = i;
    for (unsigned k = 0; k < 5; ++k) value = steps[(in[i] >> k) & 3](value, in[i] + k);
    out[i] = value;
}
