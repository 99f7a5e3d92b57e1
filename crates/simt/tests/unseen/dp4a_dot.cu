// simt: --kernel dp4a_dot --grid 2 --block 96 --arg x=i8[4096]:rand(36) --arg y=i8[4096]:rand(37) --arg out=i32[1]:zero --arg uo=u32[1]:zero --arg lo=i32[1]:zero --print out --print uo --print lo
extern "C" __global__ void dp4a_dot(const int4 *x, const int4 *y, int *out, unsigned *uo, int *lo)
{
    int a = 0, l = 0; unsigned u = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < 256; i += gridDim.x * blockDim.x) {
        int4 p = x[i], q = y[i];
        a = __dp4a(p.x, q.x, a); a = __dp4a(p.y, q.y, a); a = __dp4a(p.z, q.z, a); a = __dp4a(p.w, q.w, a);
        u = __dp4a((unsigned)p.x, 0x01010101u, u); u = __dp4a((unsigned)p.y, 0x01010101u, u);
        l = __dp2a_lo(p.z, q.w, l); l = __dp2a_hi(p.w, q.z, l);
    }
    a = __reduce_add_sync(~0u, a); u = __reduce_add_sync(~0u, u); l = __reduce_add_sync(~0u, l);
    if (threadIdx.x % 32 == 0) { atomicAdd(out, a); atomicAdd(uo, u); atomicAdd(lo, l); }
}
