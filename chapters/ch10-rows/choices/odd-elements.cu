// Written by `cargo course ptx` from exercises.toml: the kernel of odd-elements with each line that it offers.

namespace a {
extern "C" __global__ void sums_a(const int* in, int* out, unsigned int rows,
                     unsigned int cols) {
    const int* row = in + blockIdx.x * cols;
    unsigned int past =
        reinterpret_cast<unsigned long long>(row) / sizeof(int) % 4;
    unsigned int head = 0;
    unsigned int vectors = (cols - head) / 4;
    unsigned int odd = cols % 4;
    int sum = 0;
    unsigned int lane = threadIdx.x;
    if (lane < vectors) {
        int4 v = reinterpret_cast<const int4*>(row + head)[lane];
        sum += (v.x + v.y) + (v.z + v.w);
    }
    if (lane < odd) sum += row[lane < head ? lane : lane + 4 * vectors];
    for (unsigned int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
    }
    if (lane == 0) out[blockIdx.x] = sum;
}
}

namespace b {
extern "C" __global__ void sums_b(const int* in, int* out, unsigned int rows,
                     unsigned int cols) {
    const int* row = in + blockIdx.x * cols;
    unsigned int past =
        reinterpret_cast<unsigned long long>(row) / sizeof(int) % 4;
    unsigned int head = past;
    unsigned int vectors = (cols - head) / 4;
    unsigned int odd = cols - 4 * vectors;
    int sum = 0;
    unsigned int lane = threadIdx.x;
    if (lane < vectors) {
        int4 v = reinterpret_cast<const int4*>(row + head)[lane];
        sum += (v.x + v.y) + (v.z + v.w);
    }
    if (lane < odd) sum += row[lane < head ? lane : lane + 4 * vectors];
    for (unsigned int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
    }
    if (lane == 0) out[blockIdx.x] = sum;
}
}

namespace c {
extern "C" __global__ void sums_c(const int* in, int* out, unsigned int rows,
                     unsigned int cols) {
    const int* row = in + blockIdx.x * cols;
    unsigned int past =
        reinterpret_cast<unsigned long long>(row) / sizeof(int) % 4;
    unsigned int head = min((4 - past) % 4, cols);
    unsigned int vectors = (cols - head) / 4;
    unsigned int odd = cols % 4;
    int sum = 0;
    unsigned int lane = threadIdx.x;
    if (lane < vectors) {
        int4 v = reinterpret_cast<const int4*>(row + head)[lane];
        sum += (v.x + v.y) + (v.z + v.w);
    }
    if (lane < odd) sum += row[lane < head ? lane : lane + 4 * vectors];
    for (unsigned int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
    }
    if (lane == 0) out[blockIdx.x] = sum;
}
}

namespace d {
extern "C" __global__ void sums_d(const int* in, int* out, unsigned int rows,
                     unsigned int cols) {
    const int* row = in + blockIdx.x * cols;
    unsigned int past =
        reinterpret_cast<unsigned long long>(row) / sizeof(int) % 4;
    unsigned int head = (4 - past) % 4;
    unsigned int vectors = (cols - head) / 4;
    unsigned int odd = cols - 4 * vectors;
    int sum = 0;
    unsigned int lane = threadIdx.x;
    if (lane < vectors) {
        int4 v = reinterpret_cast<const int4*>(row + head)[lane];
        sum += (v.x + v.y) + (v.z + v.w);
    }
    if (lane < odd) sum += row[lane < head ? lane : lane + 4 * vectors];
    for (unsigned int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
    }
    if (lane == 0) out[blockIdx.x] = sum;
}
}

namespace e {
extern "C" __global__ void sums_e(const int* in, int* out, unsigned int rows,
                     unsigned int cols) {
    const int* row = in + blockIdx.x * cols;
    unsigned int past =
        reinterpret_cast<unsigned long long>(row) / sizeof(int) % 4;
    unsigned int head = min((4 - past) % 4, cols);
    unsigned int vectors = (cols - head) / 4;
    unsigned int odd = cols - 4 * vectors;
    int sum = 0;
    unsigned int lane = threadIdx.x;
    if (lane < vectors) {
        int4 v = reinterpret_cast<const int4*>(row + head)[lane];
        sum += (v.x + v.y) + (v.z + v.w);
    }
    if (lane < odd) sum += row[lane < head ? lane : lane + 4 * vectors];
    for (unsigned int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
    }
    if (lane == 0) out[blockIdx.x] = sum;
}
}
