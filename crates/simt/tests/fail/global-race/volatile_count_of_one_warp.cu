// The same within one warp: all lanes read before any of them writes.
extern "C" __global__ void count(volatile int* c) {
    c[0] = c[0] + 1; //~ ERROR[global-race]
}
