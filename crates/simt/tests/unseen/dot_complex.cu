// simt: --kernel dot_complex --grid 1 --block 256 --arg x=f64[1024]:rand(26) --arg y=f64[1024]:rand(27) --arg out=f64[2]:zero --print out
#include <cuda/std/complex>
using Z = cuda::std::complex<double>;
extern "C" __global__ void dot_complex(const double2 *x, const double2 *y, double2 *out)
{
    __shared__ double re[256], im[256];
    Z a = 0;
    for (int i = threadIdx.x; i < 512; i += 256) { double2 p = x[i], q = y[i]; a += cuda::std::conj(Z(p.x, p.y)) * Z(q.x, q.y); }
    re[threadIdx.x] = a.real(); im[threadIdx.x] = a.imag();
    __syncthreads();
    for (int w = 128; w; w >>= 1) {
        if (threadIdx.x < w) { re[threadIdx.x] += re[threadIdx.x + w]; im[threadIdx.x] += im[threadIdx.x + w]; }
        __syncthreads();
    }
    if (!threadIdx.x) *out = make_double2(re[0], im[0]);
}
