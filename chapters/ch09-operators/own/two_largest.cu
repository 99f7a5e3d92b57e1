// An operator of one's own, on chapter 9's machine: the two largest elements. Copy this file, and write yours.

#define WANTED_ALONE // the machine without the instances of the chapter
#include "../../../kernels/ch09-operators.cu"

// ANCHOR: operator
struct Two { int first, second; };

struct TwoLargest {
    using In = int;
    using Value = Two;
    static __device__ Two identity() {
        return {worst<true>(int()), worst<true>(int())};
    }
    static __device__ Two lift(int x, unsigned int) {
        return {x, worst<true>(int())};
    }
    static __device__ Two combine(Two a, Two b) {
        return a.first > b.first ? Two{a.first, max(a.second, b.first)}
                                 : Two{b.first, max(b.second, a.first)};
    }
};

extern "C" __global__ void two_largest(const int* in, Two* out,
                                       unsigned int n,
                                       unsigned long long* state) {
    reduce<TwoLargest, 256, 4, MANY_TILES>(in, nullptr, out, n, state, 0);
}
// ANCHOR_END: operator
