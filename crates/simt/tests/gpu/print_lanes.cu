// printf from some lanes, with every kind of value.
// simt: --kernel print_lanes --grid 2 --block 64 --arg out=i32[128]:zero --print out
extern "C" __global__ void print_lanes(int* out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    int count = -7;
    if (i % 37 == 5) {
        count = printf("%d %u %x|%5d|%-5d|%05d|%c%s\n", -(int)i, i, i * 4096, (int)i, (int)i, (int)i, 'a' + i % 26, i & 1 ? "odd" : "even");
        printf("%f %.3f %g %e %g\n", i * 0.25, -1.0 / 3, 1e10 * i, i + 0.5f, (double)(float)0.1f);
    }
    if (i == 127) printf("%lld %llx %p 100%%\n", -123456789012345LL, 0xfedcba9876543210ULL, (void*)0);
    out[i] = count;
}
