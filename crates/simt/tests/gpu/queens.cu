// Backtracking: each thread counts the solutions of the queens problem that begin in its own two squares.
// simt: --kernel queens --grid 1 --block 36 --arg out=u32[36]:zero --print out
#define N 6
__device__ __noinline__ unsigned place(unsigned row, unsigned columns, unsigned left, unsigned right) {
    if (row == N) return 1;
    unsigned found = 0;
    for (unsigned c = 0; c < N; ++c) {
        unsigned bit = 1u << c;
        if ((columns | left | right) & bit) continue;
        found += place(row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1);
    }
    return found;
}

extern "C" __global__ void queens(unsigned* out) {
    unsigned i = threadIdx.x, a = 1u << (i / N), b = 1u << (i % N);
    unsigned left = a << 1, right = a >> 1;
    out[i] = (a | left | right) & b ? 0 : place(2, a | b, (left | b) << 1, (right | b) >> 1);
}
