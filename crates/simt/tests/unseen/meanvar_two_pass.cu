// simt: --kernel meanvar_two_pass --grid 3 --block 256 --arg x=f64[3000]:rand(19) --arg out=f64[6]:zero --arg cols=i32:1000 --print out
template <class F> __device__ double total(int n, F f)
{
    __shared__ double s[256];
    double a = 0;
    for (int k = threadIdx.x; k < n; k += 256) a += f(k);
    s[threadIdx.x] = a; __syncthreads();
#pragma unroll 1
    for (int w = 128; w; w /= 2) { if (threadIdx.x < w) s[threadIdx.x] += s[threadIdx.x + w]; __syncthreads(); }
    a = s[0]; __syncthreads();
    return a;
}
extern "C" __global__ void meanvar_two_pass(const double *x, double *out, int cols)
{
    x += blockIdx.x * cols;
    double mu = total(cols, [=](int k) { return x[k]; }) / cols;
    double var = total(cols, [=](int k) { double d = x[k] - mu; return d * d; }) / cols;
    if (!threadIdx.x) { out[2 * blockIdx.x] = mu; out[2 * blockIdx.x + 1] = sqrt(var); }
}
