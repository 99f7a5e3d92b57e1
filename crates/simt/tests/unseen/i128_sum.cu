// 128-bit sums: by __int128 and by add.cc in PTX
// simt: --kernel i128_sum --grid 3 --block 64 --arg x=i64[1000]:rand(38) --arg out=u64[6]:zero --arg cc=u64[6]:zero --arg n=i32:1000 --print out --print cc
extern "C" __global__ void i128_sum(const long long *x, unsigned long long *out, unsigned long long *cc, int n)
{
    __int128 a = 0;
    unsigned long long lo = 0, hi = 0;
    for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += 192) {
        a += (__int128)x[i] * x[i] * (i & 1 ? -1 : 1);
        unsigned long long v = x[i];
        asm("add.cc.u64 %0, %0, %2;\n\taddc.u64 %1, %1, %3;" : "+l"(lo), "+l"(hi) : "l"(v), "l"((unsigned long long)((long long)v >> 63)));
    }
    __shared__ __int128 s[64]; __shared__ ulonglong2 c[64];
    s[threadIdx.x] = a; c[threadIdx.x] = make_ulonglong2(lo, hi);
    __syncthreads();
    for (int w = 32; w; w /= 2) {
        if (threadIdx.x < w) {
            s[threadIdx.x] += s[threadIdx.x + w];
            ulonglong2 p = c[threadIdx.x], q = c[threadIdx.x + w];
            asm("{ add.cc.u64 %0, %0, %2; addc.cc.u64 %1, %1, %3; }" : "+l"(p.x), "+l"(p.y) : "l"(q.x), "l"(q.y));
            c[threadIdx.x] = p;
        }
        __syncthreads();
    }
    if (!threadIdx.x) {
        out[2 * blockIdx.x] = (unsigned long long)s[0]; out[2 * blockIdx.x + 1] = (unsigned long long)(s[0] >> 64);
        cc[2 * blockIdx.x] = c[0].x; cc[2 * blockIdx.x + 1] = c[0].y;
    }
}
