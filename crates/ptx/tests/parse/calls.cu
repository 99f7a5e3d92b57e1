// Calls: recursion, structures by value, pointers to functions, virtual functions, the heap.
struct Pair { int first; double second; };
__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ __noinline__ Pair swap(Pair p) { return Pair{(int)p.second, (double)p.first}; }
__device__ __noinline__ void nothing() { asm volatile("nanosleep.u32 1;"); }
struct Shape { __device__ virtual float area() const = 0; float side; };
struct Square : Shape { __device__ float area() const override { return side * side; } };
struct Circle : Shape { __device__ float area() const override { return 3.14f * side * side; } };
typedef int (*Operation)(int, int);
__device__ int plus(int a, int b) { return a + b; }
__device__ int minus(int a, int b) { return a - b; }
__device__ Operation operations[2] = {plus, minus};

extern "C" __global__ void calls(int* out, float* areas, int n) {
    nothing();
    Pair p = swap(Pair{n, 2.5});
    out[0] = fibonacci(n) + p.first + (int)p.second;
    out[1] = operations[n & 1](n, 3);
    Shape* shape = n > 3 ? (Shape*)new Square : (Shape*)new Circle;
    shape->side = n;
    areas[0] = shape->area();
    int* room = (int*)malloc(n * sizeof(int));
    for (int i = 0; i < n; ++i) room[i] = fibonacci(i);
    out[2] = room[n / 2];
    free(room);
    delete shape;
}
