// simt: --kernel welford_rows --grid 7 --block 128 --arg x=f32[7000]:rand(11) --arg mean=f32[7]:zero --arg var=f32[7]:zero --arg cols=i32:1000 --print mean --print var
struct W { float mean, m2; int n; };
__device__ W combine(W a, W b)
{
    if (a.n == 0) return b;
    if (b.n == 0) return a;
    float d = b.mean - a.mean; int n = a.n + b.n; float r = (float)b.n / n;
    return {a.mean + d * r, a.m2 + b.m2 + d * d * a.n * r, n};
}
__device__ W shfl(W a, int d) { return {__shfl_down_sync(~0u, a.mean, d), __shfl_down_sync(~0u, a.m2, d), __shfl_down_sync(~0u, a.n, d)}; }
extern "C" __global__ void welford_rows(const float *x, float *mean, float *var, int cols)
{
    W w = {0, 0, 0};
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        float v = x[blockIdx.x * cols + c], d = v - w.mean;
        w.n++; w.mean += d / w.n; w.m2 += d * (v - w.mean);
    }
    __shared__ W part[32];
    for (int d = 16; d; d /= 2) w = combine(w, shfl(w, d));
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = w;
    __syncthreads();
    if (threadIdx.x < 32) {
        w = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : W{0, 0, 0};
        for (int d = 16; d; d /= 2) w = combine(w, shfl(w, d));
        if (!threadIdx.x) { mean[blockIdx.x] = w.mean; var[blockIdx.x] = w.m2 / (w.n - 1); }
    }
}
