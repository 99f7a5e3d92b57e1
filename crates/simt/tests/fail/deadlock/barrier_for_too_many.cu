// Two warps wait at a barrier that asks for three.
extern "C" __global__ void wait() {
    if (threadIdx.x < 64) asm volatile("bar.sync 3, 96;" ::: "memory"); //~ ERROR[deadlock]
}
