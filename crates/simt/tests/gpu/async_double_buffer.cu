// Tiles are copied into shared memory while the one before is worked on: copies of 4, 8 and 16 bytes, some filled up with zeros.
// simt: --kernel async_double_buffer --grid 2 --block 64 --arg in=u32[8192]:hash8 --arg out=u32[1024]:zero --arg tiles=u32:8 --print out
#include <cuda_pipeline_primitives.h>

extern "C" __global__ void async_double_buffer(const unsigned* in, unsigned* out, unsigned tiles) {
    __shared__ alignas(16) unsigned wide[2][256];
    __shared__ alignas(8) unsigned pair[2][128];
    __shared__ unsigned one[2][64];
    unsigned t = threadIdx.x, stride = gridDim.x * 512;
    in += blockIdx.x * 512;
    auto fetch = [&](unsigned tile) {
        const unsigned* from = in + tile * stride;
        unsigned to = tile & 1;
        __pipeline_memcpy_async(&wide[to][4 * t], from + 4 * t, 16, t % 5 == 0 ? 8 : 0);
        __pipeline_memcpy_async(&pair[to][2 * t], from + 256 + 2 * t, 8);
        __pipeline_memcpy_async(&one[to][t], from + 384 + (t ^ 21), 4, t % 7 == 3 ? 4 : 0);
        __pipeline_commit();
    };
    fetch(0);
    for (unsigned tile = 0; tile < tiles; tile++) {
        if (tile + 1 < tiles) {
            fetch(tile + 1);
            __pipeline_wait_prior(1);
        } else {
            __pipeline_wait_prior(0);
        }
        __syncthreads();
        unsigned now = tile & 1, k = (t * 3 + 1) % 64;
        unsigned sum = wide[now][4 * k] + 3 * wide[now][4 * k + 3] + 5 * pair[now][127 - 2 * t] + 7 * one[now][k];
        out[(tile * gridDim.x + blockIdx.x) * blockDim.x + t] = sum;
        __syncthreads();
    }
}
