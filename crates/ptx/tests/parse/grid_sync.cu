// A grid-wide barrier, printf and an assertion: %envreg registers, acquire and release, external functions.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void grid_sum(const int* in, int* partial, int* out, int n) {
    cg::grid_group grid = cg::this_grid();
    assert(n >= 0);
    int sum = 0;
    for (int i = grid.thread_rank(); i < n; i += grid.size()) sum += in[i];
    sum = __reduce_add_sync(0xffffffffu, sum);
    if (threadIdx.x % 32 == 0) atomicAdd(&partial[blockIdx.x], sum);
    grid.sync();
    if (grid.thread_rank() == 0) {
        int total = 0;
        for (unsigned b = 0; b < gridDim.x; ++b) total += partial[b];
        *out = total;
        printf("%d blocks, sum %d, mean %f\n", gridDim.x, total, (double)total / n);
    }
}
