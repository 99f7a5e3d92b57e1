// cp.reduce.async.bulk: the copy engine itself adds blocks' vectors into global memory
// simt: --kernel bulk_reduce --grid 8 --block 64 --arg in=i32[2048]:hash8 --arg out=i32[256]:zero --print out
#include <cuda/ptx>
namespace ptx = cuda::ptx;
extern "C" __global__ void bulk_reduce(const int *in, int *out)
{
    __shared__ alignas(16) int buf[256];
    for (int i = threadIdx.x; i < 256; i += 64) buf[i] = in[blockIdx.x * 256 + i] * 3;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, out, buf, sizeof(buf));
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
}
