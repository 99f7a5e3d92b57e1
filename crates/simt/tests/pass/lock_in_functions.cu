// A lock taken in one function and given back in another: lanes spin in a call until lanes that have returned go on.
__device__ __noinline__ void take(int* lock) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
}

__device__ __noinline__ void give(int* lock) {
    __threadfence();
    atomicExch(lock, 0);
}

extern "C" __global__ void count(int* lock, volatile int* counter) {
    take(lock);
    *counter = *counter + 1;
    give(lock);
}
