// Virtual functions: tables of addresses in global memory, objects in local memory.
// simt: --kernel virtual_shapes --grid 1 --block 96 --arg out=f32[96]:zero --print out
struct Shape {
    float side;
    __device__ Shape(float s) : side(s) {}
    __device__ virtual float area() const = 0;
    __device__ virtual float scaled(float by) const { return area() * by; }
};
struct Square : Shape {
    __device__ Square(float s) : Shape(s) {}
    __device__ float area() const override { return side * side; }
};
struct Strip : Shape {
    float height;
    __device__ Strip(float s, float h) : Shape(s), height(h) {}
    __device__ float area() const override { return side * height; }
    __device__ float scaled(float by) const override { return area() + by; }
};
__device__ __noinline__ float measure(const Shape& shape, float by) { return shape.area() + shape.scaled(by); }

extern "C" __global__ void virtual_shapes(float* out) {
    unsigned i = threadIdx.x;
    Square square((float)i);
    Strip strip((float)(i % 7), 4.0f);
    out[i] = i % 3 == 0 ? measure(square, 2.0f) : measure(strip, 8.0f);
}
