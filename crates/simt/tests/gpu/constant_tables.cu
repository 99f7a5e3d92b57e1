// Constants and variables with initial values: negative ones, floats, arrays of arrays, zeros left out.
// simt: --kernel constant_tables --grid 1 --block 96 --arg out=f32[96]:zero --arg codes=i32[96]:zero --print out --print codes
__constant__ float weights[2][4] = {{0.5f, -1.25f, 3.0f, 1e-3f}, {-8.0f, 0.0625f}};
__constant__ short shorts[5] = {-1, 32767, -32768, 12, -300};
__constant__ signed char bytes[6] = {-128, 127, -1, 0, 5};
__constant__ double doubles[3] = {-0.1, 1e300, 2.5};
__constant__ long long longs[2] = {-5000000000LL, 1LL << 62};
__device__ int squares[10] = {0, 1, 4, 9, 16, 25};
__device__ unsigned counter = 7u;

extern "C" __global__ void constant_tables(float* out, int* codes) {
    unsigned i = threadIdx.x;
    out[i] = weights[i & 1][i % 4] + (float)doubles[i % 3 == 1 ? 2 : 0] * (float)i;
    codes[i] = shorts[i % 5] * 3 + bytes[i % 6] + squares[i % 10] + (int)(longs[i & 1] >> 40) + (int)counter;
}
