// Written by `cargo course ptx` from exercises.toml: the kernel of which-two with each line that it offers.

namespace a {
extern "C" __global__ void sum_a(const unsigned int* in, unsigned int* out, unsigned int n) {
    unsigned int tid = threadIdx.x;
    unsigned int i = 2 * tid, j = 2 * tid + 1;
    unsigned int sum = in[i] + in[j];
    sum = __reduce_add_sync(0xffffffff, sum);
    if (tid == 0) out[0] = sum;
}
}

namespace b {
extern "C" __global__ void sum_b(const unsigned int* in, unsigned int* out, unsigned int n) {
    unsigned int tid = threadIdx.x;
    unsigned int i = tid, j = tid + 32;
    unsigned int sum = in[i] + in[j];
    sum = __reduce_add_sync(0xffffffff, sum);
    if (tid == 0) out[0] = sum;
}
}

namespace c {
extern "C" __global__ void sum_c(const unsigned int* in, unsigned int* out, unsigned int n) {
    unsigned int tid = threadIdx.x;
    unsigned int i = tid, j = tid + 1;
    unsigned int sum = in[i] + in[j];
    sum = __reduce_add_sync(0xffffffff, sum);
    if (tid == 0) out[0] = sum;
}
}

namespace d {
extern "C" __global__ void sum_d(const unsigned int* in, unsigned int* out, unsigned int n) {
    unsigned int tid = threadIdx.x;
    unsigned int i = tid, j = 63 - tid;
    unsigned int sum = in[i] + in[j];
    sum = __reduce_add_sync(0xffffffff, sum);
    if (tid == 0) out[0] = sum;
}
}
