// The second block to take the lock waits for ever.
extern "C" __global__ void enter(int* lock, int* n) {
    if (threadIdx.x != 0) return;
    while (atomicCAS(lock, 0, 1) != 0) {} //~ ERROR[deadlock]
    *n = *n + 1;
}
