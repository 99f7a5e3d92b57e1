// Vector loads and stores of every element type, with the hints that compilers put on them.
// simt: --kernel global_vectors --grid 2 --block 32 --arg in=u8[4096]:iota --arg out=u32[640]:zero --print out
extern "C" __global__ void global_vectors(const unsigned char* in, unsigned* out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    char4 c = __ldg((const char4*)in + i + 3);
    uchar2 u = ((const uchar2*)in)[i * 3];
    short4 s = __ldcs((const short4*)in + i);
    ushort2 w = __ldcg((const ushort2*)in + 2 * i + 1);
    int4 x = __ldca((const int4*)in + 63 - i);
    ulonglong2 d = __ldlu((const ulonglong2*)in + i);
    unsigned hinted, low, high;
    asm("ld.global.nc.L1::no_allocate.L2::128B.u32 %0, [%1];" : "=r"(hinted) : "l"(in + 4 * i));
    asm("{ .reg .b64 policy; createpolicy.fractional.L2::evict_first.b64 policy, 1.0;"
        "  ld.global.L1::evict_last.L2::cache_hint.v2.u32 {%0, %1}, [%2], policy; }"
        : "=r"(low), "=r"(high) : "l"(in + 8 * i));
    uint2* pairs = (uint2*)(out + 10 * i);
    pairs[0] = make_uint2(c.x + c.y * 2 + c.z * 3 + c.w * 5, u.x * 256 + u.y);
    pairs[1] = make_uint2(s.x ^ s.y, s.z + s.w);
    __stcs(pairs + 2, make_uint2(w.x * 3 + w.y, x.x + x.y * 3));
    __stcg(pairs + 3, make_uint2(x.z - x.w, (unsigned)(d.x >> 7)));
    __stwt(pairs + 4, make_uint2((unsigned)d.y + hinted, low * 3 + high));
}
