// A table of floats is transposed through shared memory and mixed on the way; odd sizes, two dimensions, a column of padding.
// simt: --kernel transpose_mix --grid 3,4 --block 32,8 --shared 4224 --arg in=f32[9700]:rand(8) --arg out=f32[9700]:zero --arg rows=i32:100 --arg columns=i32:97 --print out
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__constant__ float weights[4] = {0.5f, -1.25f, 3.0f, 0.0625f};

__device__ __noinline__ float mix(float value, int row, int column)
{
    float sum = value;
    for (int k = 0; k < (row + column) % 5; k++) {
        sum = fmaf(sum, weights[(row + k) & 3], value);
    }
    return sum / (1.0f + (row & 7));
}

extern "C" __global__ void transpose_mix(const float *in, float *out, int rows, int columns)
{
    extern __shared__ float tile[];
    cg::thread_block block = cg::this_thread_block();
    int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) {
        if (row + k < rows && column < columns) {
            tile[(threadIdx.y + k) * 33 + threadIdx.x] = mix(in[(row + k) * columns + column], row + k, column);
        }
    }
    block.sync();
    int to_column = blockIdx.y * 32 + threadIdx.x, to_row = blockIdx.x * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) {
        if (to_row + k < columns && to_column < rows) {
            out[(to_row + k) * rows + to_column] = tile[threadIdx.x * 33 + threadIdx.y + k];
        }
    }
}
