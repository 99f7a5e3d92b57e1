// Warp and block collectives: votes, matches, reductions, every shuffle, counted and named barriers.
extern "C" __global__ void warp(const int* in, int* out, unsigned long long* wide) {
    int x = in[threadIdx.x];
    unsigned mask = __activemask(), lane = threadIdx.x & 31, r = 0;
    r += __all_sync(mask, x > 1) + __any_sync(mask, x > 2) + __ballot_sync(mask, x > 3) + __match_any_sync(mask, x);
    int same;
    r += __match_all_sync(mask, x, &same) + same + __popc(__match_any_sync(mask, wide[lane]));
    r += __reduce_add_sync(mask, (unsigned)x) + __reduce_min_sync(mask, x) + __reduce_or_sync(mask, (unsigned)x);
    r += __shfl_sync(mask, x, 3) + __shfl_up_sync(mask, x, 1) + __shfl_down_sync(mask, x, 2, 8) + __shfl_xor_sync(mask, x, lane);
    wide[lane] += __shfl_xor_sync(mask, wide[lane + 32], 16);
    __syncwarp(); __syncwarp(mask);
    r += __syncthreads_count(x > 0) + __syncthreads_and(x > 1) + __syncthreads_or(x > 2);
    asm volatile("bar.sync 3, 64;");
    asm volatile("bar.arrive 4, %0;" :: "r"(64));
    asm volatile("barrier.sync.aligned 5; barrier.cta.sync 6, 128;");
    asm volatile("{ .reg .pred p, q; setp.gt.s32 p|q, %1, 4; vote.sync.uni.pred p, !q, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(same) : "r"(x));
    unsigned lt, smid;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lt));
    asm volatile("mov.u32 %0, %%smid;" : "=r"(smid));
    out[threadIdx.x] = r + lt + smid + same + (int)clock() + (int)clock64();
}
