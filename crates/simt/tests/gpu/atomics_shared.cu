// The same on shared memory, with and without use of the old value.
// simt: --kernel atomics_shared --grid 2 --block 128 --arg in=u32[256]:hash8 --arg out=u64[64]:zero --print out
extern "C" __global__ void atomics_shared(const unsigned* in, unsigned long long* out) {
    __shared__ unsigned a[16];
    __shared__ unsigned long long b[16];
    unsigned t = threadIdx.x, x = in[blockIdx.x * blockDim.x + t], at = x % 2;
    if (t < 16) { a[t] = t * 1000; b[t] = t * 1000; }
    __syncthreads();
    unsigned old = atomicAdd(a + at, x);
    atomicMax(a + 2 + at, old & 0);  // the old value is used, and its number is not
    atomicMin(a + 4 + at, x * 9);
    atomicInc(a + 6 + at, 20);
    atomicDec(a + 8 + at, 9000);
    atomicXor(a + 10 + at, x << 8);
    atomicOr(a + 12 + at, x);
    atomicAnd(a + 14 + at, x | 0xffff00);
    atomicAdd(b + at, 1ull << (x % 40));
    atomicMax((long long*)b + 4 + at, (long long)x - 128);
    atomicOr(b + 8 + at, 1ull << (x % 64));
    for (unsigned done = 0; !done;) {
        unsigned long long was = ((volatile unsigned long long*)b)[12];
        done = atomicCAS(b + 12, was, was + x) == was;
    }
    __syncthreads();
    if (t < 16) {
        out[blockIdx.x * 32 + t] = a[t];
        out[blockIdx.x * 32 + 16 + t] = b[t];
    }
}
