// The same in shared memory, loads with a conflict of two ways.
// simt: --kernel predicated_shared --grid 1 --block 128 --arg out=u32[128]:zero --print out
extern "C" __global__ void predicated_shared(unsigned* out) {
    __shared__ unsigned s[256];
    unsigned t = threadIdx.x, v = t, p0 = (unsigned)__cvta_generic_to_shared(s);
    s[t] = t * 3;
    s[t + 128] = t * 5;
    __syncthreads();
    asm volatile("{ .reg .pred p; setp.lt.u32 p, %1, 40; @p ld.volatile.shared.u32 %0, [%2]; }" : "+r"(v) : "r"(t), "r"(p0 + 8 * t));
    asm volatile("{ .reg .pred p; setp.gt.u32 p, %1, 2000; @p ld.volatile.shared.u32 %0, [%2]; }" : "+r"(v) : "r"(t), "r"(p0 + 4 * t));
    __syncthreads();
    asm volatile("{ .reg .pred p; setp.lt.u32 p, %1, 72; @p st.volatile.shared.u32 [%2], %0; }" :: "r"(v), "r"(t), "r"(p0 + 4 * t));
    asm volatile("{ .reg .pred p; setp.gt.u32 p, %1, 2000; @p st.volatile.shared.u32 [%2], %0; }" :: "r"(v), "r"(t), "r"(p0 + 4 * t));
    __syncthreads();
    out[t] = s[t] + v;
}
