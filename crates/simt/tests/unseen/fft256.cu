// Radix-2 Stockham FFT of 256 complex numbers a block in shared float2, twiddles by sincospif
// simt: --kernel fft256 --grid 4 --block 128 --arg in=f32[2048]:rand(13) --arg out=f32[2048]:zero --print out
extern "C" __global__ void fft256(const float2 *in, float2 *out)
{
    __shared__ float2 b[2][256];
    int t = threadIdx.x;
    in += blockIdx.x * 256; out += blockIdx.x * 256;
    b[0][t] = in[t]; b[0][t + 128] = in[t + 128];
    __syncthreads();
    int cur = 0;
    for (int ns = 1; ns < 256; ns *= 2) {
        float s, c;
        sincospif(-(float)(t % ns) / ns, &s, &c);
        float2 v0 = b[cur][t], v1 = b[cur][t + 128];
        float2 w = make_float2(v1.x * c - v1.y * s, v1.x * s + v1.y * c);
        int d = (t / ns) * ns * 2 + t % ns;
        b[cur ^ 1][d] = make_float2(v0.x + w.x, v0.y + w.y);
        b[cur ^ 1][d + ns] = make_float2(v0.x - w.x, v0.y - w.y);
        cur ^= 1;
        __syncthreads();
    }
    out[t] = b[cur][t]; out[t + 128] = b[cur][t + 128];
}
