// Functions declared before they are defined, templates (which PTX marks weak), and default arguments.
// simt: --kernel weak_and_forward --grid 1 --block 64 --arg out=u32[64]:zero --print out
template <int N> __device__ __noinline__ unsigned chain(unsigned x) { return chain<N - 1>(x * N + 1) ^ x; }
template <> __device__ __noinline__ unsigned chain<0>(unsigned x) { return x + 3; }
template <class T> __device__ __noinline__ T largest(T a, T b) { return a > b ? a : b; }
__device__ __noinline__ unsigned later(unsigned x, unsigned by = 11);

extern "C" __global__ void weak_and_forward(unsigned* out) {
    unsigned i = threadIdx.x;
    unsigned v = i % 2 ? chain<5>(i) : chain<3>(later(i));
    out[i] = largest<unsigned>(v, later(v, i)) + (unsigned)largest<float>(i * 0.5f, 3.0f) + (unsigned)largest<long long>((long long)i - 9, -2);
}
__device__ __noinline__ unsigned later(unsigned x, unsigned by) { return x * by + by / 2; }
