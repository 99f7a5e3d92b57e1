// A lock that each lane takes by a loop of its own, before all of them meet: the one that has it must go ahead of those
// that spin. Before Volta this hung.
extern "C" __global__ void lock_of_lanes(int* lock, volatile int* counter) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    *counter = *counter + 1;
    __threadfence();
    atomicExch(lock, 0);
}
