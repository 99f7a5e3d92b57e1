// ELL SpMV, column-major, -1 padding, ld.global.cs/cg hints and __ldcs
// simt: --kernel spmv_ell --grid 3 --block 100 --arg col=i32[1800]:rand(7) --arg val=f32[1800]:rand(8) --arg x=f32[300]:rand(9) --arg y=f32[300]:zero --print y
extern "C" __global__ void spmv_ell(const int *col, const float *val, const float *__restrict__ x, float *y)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
#pragma unroll 2
    for (int k = 0; k < 6; k++) {
        int c = __ldcs(col + k * 300 + r);
        if (c < 0) continue;
        s += __ldcg(val + k * 300 + r) * __ldca(x + (unsigned)c % 300u);
    }
    __stcs(y + r, s);
}
