// Active lanes and the masks of lanes below and above; a warp packs what its lanes keep by counting bits.
// simt: --kernel lane_masks --grid 2 --block 80 --arg in=u32[160]:hash8 --arg out=u32[160]:zero --arg masks=u32[960]:zero --print out --print masks
extern "C" __global__ void lane_masks(const unsigned* in, unsigned* out, unsigned* masks) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    unsigned active = __activemask(), eq, lt, le, gt, ge;
    asm("mov.u32 %0, %%lanemask_eq; mov.u32 %1, %%lanemask_lt; mov.u32 %2, %%lanemask_le;" : "=r"(eq), "=r"(lt), "=r"(le));
    asm("mov.u32 %0, %%lanemask_gt; mov.u32 %1, %%lanemask_ge;" : "=r"(gt), "=r"(ge));
    unsigned v = in[i];
    bool keep = v % 3 == 1;
    unsigned kept = __ballot_sync(active, keep);
    unsigned base = i - lane;
    if (keep) out[base + __popc(kept & lt)] = v;
    unsigned row[6] = {active, eq, lt, le, gt, ge};
    for (int k = 0; k < 6; k++) masks[i * 6 + k] = row[k];
}
