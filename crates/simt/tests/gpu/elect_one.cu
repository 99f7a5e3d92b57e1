// One lane of a warp, and one of its upper half, is chosen.
// simt: --kernel elect_one --grid 1 --block 64 --arg out=u32[2]:zero --print out
extern "C" __global__ void elect_one(unsigned* out) {
    unsigned leads, half = threadIdx.x % 32 < 16 ? 0x0000ffff : 0xffff0000;
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(leads));
    atomicAdd(out, leads);
    asm volatile("{ .reg .pred p; elect.sync _|p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(leads) : "r"(half));
    atomicAdd(out + 1, leads);
}
