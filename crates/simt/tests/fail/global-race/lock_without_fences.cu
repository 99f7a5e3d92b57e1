// A lock whose holder changes a volatile count, and no fence puts the change before the lock is given back.
extern "C" __global__ void count(int* lock, volatile int* c) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    c[0] = c[0] + 1; //~ ERROR[global-race]
    atomicExch(lock, 0);
}
