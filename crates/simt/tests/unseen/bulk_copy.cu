// Hopper bulk copies without a tensor map: cp.async.bulk global->shared with an mbarrier (expect_tx), shared->global with bulk groups, by cuda::ptx
// simt: --kernel bulk_copy --grid 3 --block 128 --arg in=i32[3072]:rand(106) --arg out=i32[3072]:zero --print out
#include <cuda/barrier>
#include <cuda/ptx>
namespace ptx = cuda::ptx;
using B = cuda::barrier<cuda::thread_scope_block>;
extern "C" __global__ void bulk_copy(const int *in, int *out)
{
    __shared__ alignas(128) int s[1024];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ B bar;
    if (threadIdx.x == 0) { init(&bar, blockDim.x); ptx::fence_proxy_async(ptx::space_shared); }
    __syncthreads();
    B::arrival_token token;
    if (threadIdx.x == 0) {
        cuda::memcpy_async(s, in + blockIdx.x * 1024, cuda::aligned_size_t<16>(sizeof(s)), bar);
        token = bar.arrive();
    } else token = bar.arrive();
    bar.wait(std::move(token));
    for (int i = threadIdx.x; i < 1024; i += 128) s[i] = s[i] * 3 + i;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + blockIdx.x * 1024, s, sizeof(s));
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}
