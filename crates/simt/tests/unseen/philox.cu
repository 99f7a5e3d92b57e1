// Philox4x32-10 by hand, then Box-Muller and uniform
// simt: --kernel philox --grid 2 --block 64 --arg o=u32[512]:zero --arg u=f32[512]:zero --arg z=f32[256]:zero --arg seed=u64:123456789012345 --print o --print u --print z
extern "C" __global__ void philox(uint4 *o, float4 *u, float2 *z, unsigned long long seed)
{
    unsigned t = blockIdx.x * 64 + threadIdx.x;
    uint4 c = make_uint4(t, 0, 7, t * 3);
    unsigned k0 = seed, k1 = seed >> 32;
#pragma unroll
    for (int r = 0; r < 10; r++) {
        unsigned h0 = __umulhi(0xD2511F53u, c.x), l0 = 0xD2511F53u * c.x, h1 = __umulhi(0xCD9E8D57u, c.z), l1 = 0xCD9E8D57u * c.z;
        c = make_uint4(h1 ^ c.y ^ k0, l1, h0 ^ c.w ^ k1, l0);
        k0 += 0x9E3779B9u; k1 += 0xBB67AE85u;
    }
    o[t] = c;
    float4 f = make_float4((c.x + 0.5f) * 2.3283064e-10f, (c.y >> 8) * (1.f / 16777216), __uint2float_rz(c.z) * 0x1p-32f, (float)c.w);
    u[t] = f;
    float r = sqrtf(-2.f * logf(f.x)), s, q;
    sincosf(6.2831853f * f.y, &s, &q);
    z[t] = make_float2(r * q, r * s);
}
