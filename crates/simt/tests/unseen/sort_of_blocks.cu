// Blocks sort by CUB's radix sort and sum by its scan: code of others, as a kernel of this field may hold.
// simt: --kernel sort_of_blocks --grid 4 --block 128 --arg in=u32[2048]:rand(6) --arg out=u32[2048]:zero --arg ranks=u32[2048]:zero --print out --print ranks
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_scan.cuh>

extern "C" __global__ void sort_of_blocks(const unsigned *in, unsigned *out, unsigned *ranks)
{
    using Sort = cub::BlockRadixSort<unsigned, 128, 4>;
    using Scan = cub::BlockScan<unsigned, 128>;
    __shared__ union {
        typename Sort::TempStorage sort;
        typename Scan::TempStorage scan;
    } room;
    unsigned keys[4], flags[4], first = blockIdx.x * 512 + threadIdx.x * 4;
    for (int k = 0; k < 4; k++) {
        keys[k] = in[first + k];
    }
    Sort(room.sort).Sort(keys);
    __syncthreads();
    for (int k = 0; k < 4; k++) {
        flags[k] = keys[k] & 1;
    }
    Scan(room.scan).ExclusiveSum(flags, flags);
    for (int k = 0; k < 4; k++) {
        out[first + k] = keys[k];
        ranks[first + k] = flags[k];
    }
}
