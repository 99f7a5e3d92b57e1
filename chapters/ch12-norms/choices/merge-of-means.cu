// Written by `cargo course ptx` from exercises.toml: the kernel of merge-of-means with each line that it offers.

namespace a {
extern "C" __global__ void meanvar_a(const float* in, float2* out, unsigned int rows,
                        unsigned int cols) {
    float count = 0, mean = 0, squares = 0;
    for (unsigned int c = threadIdx.x; c < cols; c += 32) {
        float apart = in[blockIdx.x * cols + c] - mean;
        mean += apart / ++count;
        squares += apart * (in[blockIdx.x * cols + c] - mean);
    }
    for (unsigned int offset = 16; offset > 0; offset /= 2) {
        float other_count = __shfl_xor_sync(0xffffffff, count, offset);
        float apart = __shfl_xor_sync(0xffffffff, mean, offset) - mean;
        float other_squares = __shfl_xor_sync(0xffffffff, squares, offset);
        float all = count + other_count;
        float share = all > 0 ? other_count / all : 0;
        squares = squares + other_squares;
        mean += apart * share;
        count = all;
    }
    if (threadIdx.x == 0) out[blockIdx.x] = {mean, squares / count};
}
}

namespace b {
extern "C" __global__ void meanvar_b(const float* in, float2* out, unsigned int rows,
                        unsigned int cols) {
    float count = 0, mean = 0, squares = 0;
    for (unsigned int c = threadIdx.x; c < cols; c += 32) {
        float apart = in[blockIdx.x * cols + c] - mean;
        mean += apart / ++count;
        squares += apart * (in[blockIdx.x * cols + c] - mean);
    }
    for (unsigned int offset = 16; offset > 0; offset /= 2) {
        float other_count = __shfl_xor_sync(0xffffffff, count, offset);
        float apart = __shfl_xor_sync(0xffffffff, mean, offset) - mean;
        float other_squares = __shfl_xor_sync(0xffffffff, squares, offset);
        float all = count + other_count;
        float share = all > 0 ? other_count / all : 0;
        squares = squares + other_squares + apart * apart;
        mean += apart * share;
        count = all;
    }
    if (threadIdx.x == 0) out[blockIdx.x] = {mean, squares / count};
}
}

namespace c {
extern "C" __global__ void meanvar_c(const float* in, float2* out, unsigned int rows,
                        unsigned int cols) {
    float count = 0, mean = 0, squares = 0;
    for (unsigned int c = threadIdx.x; c < cols; c += 32) {
        float apart = in[blockIdx.x * cols + c] - mean;
        mean += apart / ++count;
        squares += apart * (in[blockIdx.x * cols + c] - mean);
    }
    for (unsigned int offset = 16; offset > 0; offset /= 2) {
        float other_count = __shfl_xor_sync(0xffffffff, count, offset);
        float apart = __shfl_xor_sync(0xffffffff, mean, offset) - mean;
        float other_squares = __shfl_xor_sync(0xffffffff, squares, offset);
        float all = count + other_count;
        float share = all > 0 ? other_count / all : 0;
        squares = (squares + other_squares) / 2;
        mean += apart * share;
        count = all;
    }
    if (threadIdx.x == 0) out[blockIdx.x] = {mean, squares / count};
}
}

namespace d {
extern "C" __global__ void meanvar_d(const float* in, float2* out, unsigned int rows,
                        unsigned int cols) {
    float count = 0, mean = 0, squares = 0;
    for (unsigned int c = threadIdx.x; c < cols; c += 32) {
        float apart = in[blockIdx.x * cols + c] - mean;
        mean += apart / ++count;
        squares += apart * (in[blockIdx.x * cols + c] - mean);
    }
    for (unsigned int offset = 16; offset > 0; offset /= 2) {
        float other_count = __shfl_xor_sync(0xffffffff, count, offset);
        float apart = __shfl_xor_sync(0xffffffff, mean, offset) - mean;
        float other_squares = __shfl_xor_sync(0xffffffff, squares, offset);
        float all = count + other_count;
        float share = all > 0 ? other_count / all : 0;
        squares = squares + other_squares + apart * apart * count * share;
        mean += apart * share;
        count = all;
    }
    if (threadIdx.x == 0) out[blockIdx.x] = {mean, squares / count};
}
}

namespace e {
extern "C" __global__ void meanvar_e(const float* in, float2* out, unsigned int rows,
                        unsigned int cols) {
    float count = 0, mean = 0, squares = 0;
    for (unsigned int c = threadIdx.x; c < cols; c += 32) {
        float apart = in[blockIdx.x * cols + c] - mean;
        mean += apart / ++count;
        squares += apart * (in[blockIdx.x * cols + c] - mean);
    }
    for (unsigned int offset = 16; offset > 0; offset /= 2) {
        float other_count = __shfl_xor_sync(0xffffffff, count, offset);
        float apart = __shfl_xor_sync(0xffffffff, mean, offset) - mean;
        float other_squares = __shfl_xor_sync(0xffffffff, squares, offset);
        float all = count + other_count;
        float share = all > 0 ? other_count / all : 0;
        squares = squares + other_squares + apart * apart * share;
        mean += apart * share;
        count = all;
    }
    if (threadIdx.x == 0) out[blockIdx.x] = {mean, squares / count};
}
}
