// Every integer atomic on global memory, many lanes on few places, in 32 and 64 bits.
// simt: --kernel atomics_integer --grid 3 --block 96 --arg in=u32[288]:hash8 --arg a=u32[40]:iota --arg b=u64[40]:iota --print a --print b
extern "C" __global__ void atomics_integer(const unsigned* in, unsigned* a, unsigned long long* b) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, x = in[i], at = x % 4;
    atomicAdd(a + at, x);
    atomicSub(a + 4 + at, x);
    atomicMin((int*)a + 8 + at, (int)x - 200);
    atomicMax(a + 12 + at, x * 77);
    atomicInc(a + 16 + at, 10);
    atomicDec(a + 20 + at, 100);
    atomicAnd(a + 24 + at, ~(1u << x % 31));
    atomicOr(a + 28 + at, 1u << x % 29);
    atomicXor(a + 32 + at, x * 0x01010101u);
    atomicAdd(b + at, (unsigned long long)x << 33);
    atomicMin((long long*)b + 8 + at, -(long long)x << 30);
    atomicMax(b + 12 + at, (unsigned long long)x << 40);
    atomicAnd(b + 24 + at, ~(1ull << x % 61));
    atomicOr(b + 28 + at, 1ull << x % 59);
    atomicXor(b + 32 + at, (unsigned long long)x << 32 | x);
    if (i < 4) {
        unsigned before = atomicExch(a + 36 + i, x);
        unsigned hit = atomicCAS(b + 36 + i, 36ull + i, 7ull << 50) == 36 + i;
        atomicAdd(a + 36 + i, before * 1000 + hit);
    }
}
