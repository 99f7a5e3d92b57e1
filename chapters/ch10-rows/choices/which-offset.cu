// Written by `cargo course ptx` from exercises.toml: the kernel of which-offset with each line that it offers.

namespace a {
extern "C" __global__ void sums_a(const unsigned int* in, unsigned int* out,
                     unsigned int rows, unsigned int cols) {
    unsigned int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8;
    unsigned int lane = threadIdx.x % 8;
    unsigned int sum = 0;
    if (row < rows) {
        for (unsigned int c = lane; c < cols; c += 8) {
            sum += in[row * cols + c];
        }
    }
    for (unsigned int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
    }
    if (row < rows && lane == 0) out[row] = sum;
}
}

namespace b {
extern "C" __global__ void sums_b(const unsigned int* in, unsigned int* out,
                     unsigned int rows, unsigned int cols) {
    unsigned int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8;
    unsigned int lane = threadIdx.x % 8;
    unsigned int sum = 0;
    if (row < rows) {
        for (unsigned int c = lane; c < cols; c += 8) {
            sum += in[row * cols + c];
        }
    }
    for (unsigned int offset = 8; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
    }
    if (row < rows && lane == 0) out[row] = sum;
}
}

namespace c {
extern "C" __global__ void sums_c(const unsigned int* in, unsigned int* out,
                     unsigned int rows, unsigned int cols) {
    unsigned int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8;
    unsigned int lane = threadIdx.x % 8;
    unsigned int sum = 0;
    if (row < rows) {
        for (unsigned int c = lane; c < cols; c += 8) {
            sum += in[row * cols + c];
        }
    }
    for (unsigned int offset = 4; offset > 1; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
    }
    if (row < rows && lane == 0) out[row] = sum;
}
}

namespace d {
extern "C" __global__ void sums_d(const unsigned int* in, unsigned int* out,
                     unsigned int rows, unsigned int cols) {
    unsigned int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8;
    unsigned int lane = threadIdx.x % 8;
    unsigned int sum = 0;
    if (row < rows) {
        for (unsigned int c = lane; c < cols; c += 8) {
            sum += in[row * cols + c];
        }
    }
    for (unsigned int offset = 4; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
    }
    if (row < rows && lane == 0) out[row] = sum;
}
}

namespace e {
extern "C" __global__ void sums_e(const unsigned int* in, unsigned int* out,
                     unsigned int rows, unsigned int cols) {
    unsigned int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8;
    unsigned int lane = threadIdx.x % 8;
    unsigned int sum = 0;
    if (row < rows) {
        for (unsigned int c = lane; c < cols; c += 8) {
            sum += in[row * cols + c];
        }
    }
    for (unsigned int offset = 1; offset < 8; offset *= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
    }
    if (row < rows && lane == 0) out[row] = sum;
}
}
