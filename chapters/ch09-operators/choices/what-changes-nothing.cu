// Written by `cargo course ptx` from exercises.toml: the kernel of what-changes-nothing with each line that it offers.

namespace a {
struct Both { int min, max; };
extern "C" __global__ void both_a(const int* in, Both* out, unsigned int n) {
    __shared__ Both values[64];
    unsigned int tid = threadIdx.x;
    const int smallest = -2147483647 - 1, largest = 2147483647;
    values[tid] = Both{0, 0};
    if (tid < n) values[tid] = Both{in[tid], in[tid]};
    __syncthreads();
    for (unsigned int s = 32; s > 0; s /= 2) {
        if (tid < s) {
            Both a = values[tid], b = values[tid + s];
            values[tid] = Both{min(a.min, b.min), max(a.max, b.max)};
        }
        __syncthreads();
    }
    if (tid == 0) *out = values[0];
}
}

namespace b {
struct Both { int min, max; };
extern "C" __global__ void both_b(const int* in, Both* out, unsigned int n) {
    __shared__ Both values[64];
    unsigned int tid = threadIdx.x;
    const int smallest = -2147483647 - 1, largest = 2147483647;
    values[tid] = Both{smallest, largest};
    if (tid < n) values[tid] = Both{in[tid], in[tid]};
    __syncthreads();
    for (unsigned int s = 32; s > 0; s /= 2) {
        if (tid < s) {
            Both a = values[tid], b = values[tid + s];
            values[tid] = Both{min(a.min, b.min), max(a.max, b.max)};
        }
        __syncthreads();
    }
    if (tid == 0) *out = values[0];
}
}

namespace c {
struct Both { int min, max; };
extern "C" __global__ void both_c(const int* in, Both* out, unsigned int n) {
    __shared__ Both values[64];
    unsigned int tid = threadIdx.x;
    const int smallest = -2147483647 - 1, largest = 2147483647;
    values[tid] = Both{largest, smallest};
    if (tid < n) values[tid] = Both{in[tid], in[tid]};
    __syncthreads();
    for (unsigned int s = 32; s > 0; s /= 2) {
        if (tid < s) {
            Both a = values[tid], b = values[tid + s];
            values[tid] = Both{min(a.min, b.min), max(a.max, b.max)};
        }
        __syncthreads();
    }
    if (tid == 0) *out = values[0];
}
}

namespace d {
struct Both { int min, max; };
extern "C" __global__ void both_d(const int* in, Both* out, unsigned int n) {
    __shared__ Both values[64];
    unsigned int tid = threadIdx.x;
    const int smallest = -2147483647 - 1, largest = 2147483647;
    values[tid] = Both{in[0], in[0]};
    if (tid < n) values[tid] = Both{in[tid], in[tid]};
    __syncthreads();
    for (unsigned int s = 32; s > 0; s /= 2) {
        if (tid < s) {
            Both a = values[tid], b = values[tid + s];
            values[tid] = Both{min(a.min, b.min), max(a.max, b.max)};
        }
        __syncthreads();
    }
    if (tid == 0) *out = values[0];
}
}
