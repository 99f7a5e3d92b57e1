// Structures by value through a recursive function.
// simt: --kernel matrix_power --grid 2 --block 48 --arg out=i32[384]:zero --print out
struct Matrix { int m[4]; };
__device__ __noinline__ Matrix times(Matrix a, Matrix b) {
    Matrix c;
    for (int r = 0; r < 2; ++r)
        for (int k = 0; k < 2; ++k) c.m[2 * r + k] = a.m[2 * r] * b.m[k] + a.m[2 * r + 1] * b.m[2 + k];
    return c;
}
__device__ __noinline__ Matrix power(Matrix a, unsigned n) {
    if (n == 0) return Matrix{{1, 0, 0, 1}};
    Matrix half = power(a, n / 2);
    Matrix square = times(half, half);
    return n & 1 ? times(square, a) : square;
}

extern "C" __global__ void matrix_power(int* out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    Matrix result = power(Matrix{{1, (int)(i % 3), -1, 2}}, i % 17);
    for (int k = 0; k < 4; ++k) out[4 * i + k] = result.m[k];
}
