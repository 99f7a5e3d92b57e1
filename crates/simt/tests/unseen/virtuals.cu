// Virtual functions with objects built by placement new in local memory; function pointer tables; member pointers
// simt: --kernel virtuals --grid 2 --block 96 --arg out=f32[192]:zero --arg out2=i32[192]:zero --print out --print out2
#include <new>
struct Shape { __device__ virtual float area() const = 0; __device__ virtual int sides() const { return 0; } __device__ virtual ~Shape() {} };
struct Circle : Shape { float r; __device__ Circle(float r) : r(r) {} __device__ float area() const override { return 3.0f * r * r; } };
struct Rect : Shape { float w, h; __device__ Rect(float w, float h) : w(w), h(h) {} __device__ float area() const override { return w * h; } __device__ int sides() const override { return 4; } };
struct Square final : Rect { __device__ Square(float w) : Rect(w, w) {} __device__ int sides() const override { return Rect::sides() + 100; } };
typedef int (*Op)(int, int);
__device__ __noinline__ int add(int a, int b) { return a + b; }
__device__ __noinline__ int sub(int a, int b) { return a - b; }
__device__ __noinline__ int mul(int a, int b) { return a * b; }
__device__ Op table[3] = {add, sub, mul};
struct Acc { int v; __device__ __noinline__ void plus(int x) { v += x; } __device__ __noinline__ void times(int x) { v *= x; } };
extern "C" __global__ void virtuals(float *out, int *out2)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    __align__(16) char buf[64];
    Shape *s;
    switch (t % 3) { case 0: s = new (buf) Circle(t * 0.5f); break; case 1: s = new (buf) Rect(t, 2); break; default: s = new (buf) Square(t + 1); }
    out[t] = s->area() + s->sides();
    s->~Shape();
    int r = table[t % 3](t, 7);
    void (Acc::*m)(int) = t & 4 ? &Acc::plus : &Acc::times;
    Acc acc{r}; (acc.*m)(3);
    out2[t] = acc.v;
}
