// Written by `cargo course ptx` from exercises.toml: the kernel of stride-of-the-grid with each line that it offers.

namespace a {
extern "C" __global__ void sum_a(const unsigned int* in, unsigned int* out, unsigned int n) {
    unsigned int sum = 0;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x) {
        sum += in[i];
    }
    sum = __reduce_add_sync(0xffffffff, sum);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
}

namespace b {
extern "C" __global__ void sum_b(const unsigned int* in, unsigned int* out, unsigned int n) {
    unsigned int sum = 0;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x) {
        sum += in[i];
    }
    sum = __reduce_add_sync(0xffffffff, sum);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
}

namespace c {
extern "C" __global__ void sum_c(const unsigned int* in, unsigned int* out, unsigned int n) {
    unsigned int sum = 0;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        sum += in[i];
    }
    sum = __reduce_add_sync(0xffffffff, sum);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
}

namespace d {
extern "C" __global__ void sum_d(const unsigned int* in, unsigned int* out, unsigned int n) {
    unsigned int sum = 0;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += n / gridDim.x) {
        sum += in[i];
    }
    sum = __reduce_add_sync(0xffffffff, sum);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
}
