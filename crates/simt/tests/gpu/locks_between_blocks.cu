// Two locks, one taken by compare-and-swap and one served in the order of tickets, each around a plain counter.
// simt: --kernel locks_between_blocks --grid 24 --block 32 --arg lock=u32[1]:zero --arg next=u32[2]:zero --arg count=u32[2]:zero --print count --print next
extern "C" __global__ void locks_between_blocks(unsigned* lock, unsigned* next, unsigned* count) {
    if (threadIdx.x != 0) return;
    while (atomicCAS(lock, 0, 1) != 0) __nanosleep(20);
    __threadfence();
    count[0] += blockIdx.x;
    __threadfence();
    atomicExch(lock, 0);
    unsigned mine = atomicAdd(next, 1);
    while (*(volatile unsigned*)(next + 1) != mine) {}
    __threadfence();
    count[1] = count[1] + 2 * blockIdx.x + 1;
    __threadfence();
    *(volatile unsigned*)(next + 1) = mine + 1;
}
