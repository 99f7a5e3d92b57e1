// Written by `cargo course ptx` from exercises.toml: the kernel of changes-no-maximum with each line that it offers.

namespace a {
extern "C" __global__ void largest_a(const int* in, int* out, unsigned int n) {
    unsigned int tid = threadIdx.x;
    int value = 0;
    if (tid < n) value = in[tid];
    value = __reduce_max_sync(0xffffffff, value);
    if (tid == 0) out[0] = value;
}
}

namespace b {
extern "C" __global__ void largest_b(const int* in, int* out, unsigned int n) {
    unsigned int tid = threadIdx.x;
    int value = -2000000000;
    if (tid < n) value = in[tid];
    value = __reduce_max_sync(0xffffffff, value);
    if (tid == 0) out[0] = value;
}
}

namespace c {
extern "C" __global__ void largest_c(const int* in, int* out, unsigned int n) {
    unsigned int tid = threadIdx.x;
    int value = -0x7fffffff - 1;
    if (tid < n) value = in[tid];
    value = __reduce_max_sync(0xffffffff, value);
    if (tid == 0) out[0] = value;
}
}

namespace d {
extern "C" __global__ void largest_d(const int* in, int* out, unsigned int n) {
    unsigned int tid = threadIdx.x;
    int value = in[0];
    if (tid < n) value = in[tid];
    value = __reduce_max_sync(0xffffffff, value);
    if (tid == 0) out[0] = value;
}
}
