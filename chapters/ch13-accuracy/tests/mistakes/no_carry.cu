// A sum of positive floats from 2^-31 up to 2^33 in two slots of 64 bits, which no thread ever carries.
extern "C" __global__ void no_carry_f32(const float* in, float* out, unsigned int n) {
    unsigned long long slots[2] = {};
    for (unsigned int i = threadIdx.x; i < n; i += 32) {
        unsigned int bits = __float_as_uint(in[i]), integer = bits & 0x7fffff | 0x800000;
        unsigned long long sum = static_cast<unsigned long long>(integer) << (bits >> 23 & 31);
        slots[bits >> 28 & 1] += sum;
    }
    double sum = static_cast<double>(slots[0]) * 0x1p-22 + static_cast<double>(slots[1]) * 0x1p-54;
    for (unsigned int apart = 16; apart > 0; apart /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, apart);
    if (threadIdx.x == 0) *out = static_cast<float>(sum);
}
