// Counts, their running sum and the scattering, each phase behind a barrier of the whole grid; equal keys keep their order.
// simt: --kernel counting_sort --grid 8 --block 128 --cooperative --arg in=u32[4096]:hash8 --arg counts=u32[2048]:zero --arg out=u32[4096]:zero --print out --print counts
#include <cooperative_groups.h>
extern "C" __global__ void counting_sort(const unsigned* in, unsigned* counts, unsigned* out) {
    auto grid = cooperative_groups::this_grid();
    __shared__ unsigned mine[256];
    unsigned t = threadIdx.x, first = blockIdx.x * 512;
    for (unsigned k = t; k < 256; k += 128) mine[k] = 0;
    __syncthreads();
    for (unsigned k = t; k < 512; k += 128) atomicAdd(&mine[in[first + k]], 1);
    __syncthreads();
    for (unsigned k = t; k < 256; k += 128) counts[k * 8 + blockIdx.x] = mine[k];
    grid.sync();
    if (blockIdx.x == 0 && t < 32) {
        unsigned before = 0;
        for (unsigned k = t; k < 2048; k += 32) {
            unsigned value = counts[k], sum = value;
            for (unsigned d = 1; d < 32; d *= 2) {
                unsigned other = __shfl_up_sync(~0u, sum, d);
                if (t >= d) sum += other;
            }
            counts[k] = before + sum - value;
            before += __shfl_sync(~0u, sum, 31);
        }
    }
    grid.sync();
    if (t < 32) {
        for (unsigned k = t; k < 512; k += 32) {
            unsigned key = in[first + k];
            unsigned same = __match_any_sync(~0u, key);
            unsigned rank = __popc(same & ((1u << t) - 1));
            unsigned place = counts[key * 8 + blockIdx.x] + rank;
            __syncwarp();
            if (rank == 0) counts[key * 8 + blockIdx.x] += __popc(same);
            out[place] = key << 16 | (first + k);
            __syncwarp();
        }
    }
}
