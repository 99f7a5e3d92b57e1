// A tree sum of doubles with compensation, square roots, quotients and remainders on the way.
// simt: --kernel compensated_sums --grid 2 --block 128 --arg in=f64[1024]:rand(4) --arg out=f64[512]:zero --arg single=f32[512]:zero --print out --print single
extern "C" __global__ void compensated_sums(const double* in, double* out, float* single) {
    __shared__ double s[128];
    unsigned t = threadIdx.x, i = blockIdx.x * 128 + t;
    double sum = 0, lost = 0;
    float fsum = 0, flost = 0;
    for (int k = 0; k < 4; k++) {
        double x = in[i + 256 * k] / (1.0 + k) - lost;
        double next = sum + x;
        lost = (next - sum) - x;
        sum = next;
        float y = __fsub_rn((float)in[i + 256 * k] / (3.0f + k), flost);
        float fnext = __fadd_rn(fsum, y);
        flost = __fsub_rn(__fsub_rn(fnext, fsum), y);
        fsum = fnext;
    }
    s[t] = sum;
    for (int half = 64; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) s[t] += s[t + half];
    }
    __syncthreads();
    out[i] = sqrt(fabs(sum)) + s[0];
    out[i + 256] = fma(sum, s[0], floor(sum * 1e3));
    single[i] = sqrtf(fabsf(fsum)) + fmodf(fsum * 100, 0.7f);
    single[i + 256] = __frcp_rn(fsum) + __fdiv_ru(fsum, 3.0f) + rintf(fsum * 1e3f);
}
