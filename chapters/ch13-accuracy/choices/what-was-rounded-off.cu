// Written by `cargo course ptx` from exercises.toml: the kernel of what-was-rounded-off with each line that it offers.

namespace a {
extern "C" __global__ void sum_a(const int* in, int* out, unsigned int n) {
    float total = 0, rest = 0;
    for (unsigned int i = threadIdx.x; i < n; i += 32) {
        float a = total, b = static_cast<float>(in[i]);
        total = a + b;
        float from_b = total - a;
        rest += b - from_b;
    }
    atomicAdd(out, static_cast<int>(total) + static_cast<int>(rest));
}
}

namespace b {
extern "C" __global__ void sum_b(const int* in, int* out, unsigned int n) {
    float total = 0, rest = 0;
    for (unsigned int i = threadIdx.x; i < n; i += 32) {
        float a = total, b = static_cast<float>(in[i]);
        total = a + b;
        float from_b = total - a;
        rest += (a + b) - total;
    }
    atomicAdd(out, static_cast<int>(total) + static_cast<int>(rest));
}
}

namespace c {
extern "C" __global__ void sum_c(const int* in, int* out, unsigned int n) {
    float total = 0, rest = 0;
    for (unsigned int i = threadIdx.x; i < n; i += 32) {
        float a = total, b = static_cast<float>(in[i]);
        total = a + b;
        float from_b = total - a;
        rest += (a - (total - from_b)) + (b - from_b);
    }
    atomicAdd(out, static_cast<int>(total) + static_cast<int>(rest));
}
}

namespace d {
extern "C" __global__ void sum_d(const int* in, int* out, unsigned int n) {
    float total = 0, rest = 0;
    for (unsigned int i = threadIdx.x; i < n; i += 32) {
        float a = total, b = static_cast<float>(in[i]);
        total = a + b;
        float from_b = total - a;
        rest += from_b - b;
    }
    atomicAdd(out, static_cast<int>(total) + static_cast<int>(rest));
}
}

namespace e {
extern "C" __global__ void sum_e(const int* in, int* out, unsigned int n) {
    float total = 0, rest = 0;
    for (unsigned int i = threadIdx.x; i < n; i += 32) {
        float a = total, b = static_cast<float>(in[i]);
        total = a + b;
        float from_b = total - a;
        rest += fabsf(a) < fabsf(b) ? a - (total - b) : b - from_b;
    }
    atomicAdd(out, static_cast<int>(total) + static_cast<int>(rest));
}
}
