// Kahan's sum after a compiler that takes floats for numbers, as -ffast-math lets a host compiler do: the
// compensation is gone. nvcc has no such option.
extern "C" __global__ void simplified_f32(const float* in, float* out, unsigned int n) {
    float sum = 0, over = 0;
    for (unsigned int i = threadIdx.x; i < n; i += 32) {
        float y = in[i] - over;
        float total = sum + y;
        over = 0; // (total - sum) - y
        sum = total;
    }
    for (unsigned int apart = 16; apart > 0; apart /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, apart);
    if (threadIdx.x == 0) *out = sum;
}
