// A tile's reduction wants all of its threads; some are elsewhere. The library's lines wait, and the kernel's line is to blame.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

extern "C" __global__ void sum(const int *in, int *out)
{
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    int value = in[threadIdx.x];
    if (threadIdx.x < 12)
        value = cg::reduce(tile, value, cg::plus<int>()); //~ ERROR[mask-mismatch]
    out[threadIdx.x] = value;
}
