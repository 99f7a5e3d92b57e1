// one unsigned 128-bit division and remainder
// simt: --kernel div128 --grid 1 --block 32 --arg a=u64[64]:rand(51) --arg b=u64[64]:rand(52) --arg q=u64[64]:zero --arg r=u64[64]:zero --print q --print r --print a --print b
typedef unsigned __int128 u128;
extern "C" __global__ void div128(const ulonglong2 *a, const ulonglong2 *b, ulonglong2 *q, ulonglong2 *r)
{
    int t = threadIdx.x;
    u128 x = (u128)a[t].y << 64 | a[t].x, y = (u128)(b[t].y >> (t * 3)) << 64 | b[t].x;
    if (t * 3 >= 64) y = b[t].x;
    u128 d = x / y, m = x % y;
    q[t] = make_ulonglong2(d, d >> 64); r[t] = make_ulonglong2(m, m >> 64);
}
