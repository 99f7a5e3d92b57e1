// Steps of a stencil with the whole grid waiting between them.
// simt: --kernel grid_sync --grid 20 --block 96 --cooperative --arg a=u32[1920]:hash8 --arg b=u32[1920]:zero --arg state=u32[4]:zero --print a --print state
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void grid_sync(unsigned* a, unsigned* b, unsigned* state) {
    cg::grid_group grid = cg::this_grid();
    unsigned n = grid.size(), i = grid.thread_rank();
    for (unsigned step = 0; step < 4; step++) {
        b[i] = a[i] + a[(i + 1) % n] + a[(i + n - 97) % n];
        grid.sync();
        a[i] = b[i] % 1000;
        grid.sync();
    }
    if (i == n - 1) {
        state[0] = grid.is_valid();
        state[1] = grid.num_blocks();
        state[2] = grid.block_rank();
        state[3] = n;
    }
}
