// Each lane keeps what its additions round off. The tree adds the lanes' sums alone.
extern "C" __global__ void lost_rest_f32(const float* in, float* out, unsigned int n) {
    float sum = 0, rest = 0;
    for (unsigned int i = threadIdx.x; i < n; i += 32) {
        float x = in[i], total = sum + x, of_x = total - sum;
        rest += (sum - (total - of_x)) + (x - of_x);
        sum = total;
    }
    for (unsigned int apart = 16; apart > 0; apart /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, apart);
    if (threadIdx.x == 0) *out = sum + rest;
}
