// Written by `cargo course ptx` from exercises.toml: the kernel of norm-turns with each line that it offers.

namespace a {
extern "C" __global__ void sum_a(const int* in, int* out, unsigned int rows,
                    unsigned int cols) {
    __shared__ int of_warps[2][4];
    for (unsigned int row = 0; row < rows; row++) {
        int mine = 0;
        for (unsigned int c = threadIdx.x; c < cols; c += 128)
            mine += in[row * cols + c];
        for (unsigned int offset = 16; offset > 0; offset /= 2)
            mine += __shfl_xor_sync(0xffffffff, mine, offset);
        int* buffer = of_warps[0];
        if (threadIdx.x % 32 == 0) buffer[threadIdx.x / 32] = mine;
        __syncthreads();
        int all = buffer[0] + buffer[1] + buffer[2] + buffer[3];
        if (threadIdx.x == 96) out[row] = all;
    }
}
}

namespace b {
extern "C" __global__ void sum_b(const int* in, int* out, unsigned int rows,
                    unsigned int cols) {
    __shared__ int of_warps[2][4];
    for (unsigned int row = 0; row < rows; row++) {
        int mine = 0;
        for (unsigned int c = threadIdx.x; c < cols; c += 128)
            mine += in[row * cols + c];
        for (unsigned int offset = 16; offset > 0; offset /= 2)
            mine += __shfl_xor_sync(0xffffffff, mine, offset);
        int* buffer = of_warps[row % 2];
        if (threadIdx.x % 32 == 0) buffer[threadIdx.x / 32] = mine;
        __syncthreads();
        int all = buffer[0] + buffer[1] + buffer[2] + buffer[3];
        if (threadIdx.x == 96) out[row] = all;
    }
}
}

namespace c {
extern "C" __global__ void sum_c(const int* in, int* out, unsigned int rows,
                    unsigned int cols) {
    __shared__ int of_warps[2][4];
    for (unsigned int row = 0; row < rows; row++) {
        int mine = 0;
        for (unsigned int c = threadIdx.x; c < cols; c += 128)
            mine += in[row * cols + c];
        for (unsigned int offset = 16; offset > 0; offset /= 2)
            mine += __shfl_xor_sync(0xffffffff, mine, offset);
        int* buffer = of_warps[row / 2 % 2];
        if (threadIdx.x % 32 == 0) buffer[threadIdx.x / 32] = mine;
        __syncthreads();
        int all = buffer[0] + buffer[1] + buffer[2] + buffer[3];
        if (threadIdx.x == 96) out[row] = all;
    }
}
}

namespace d {
extern "C" __global__ void sum_d(const int* in, int* out, unsigned int rows,
                    unsigned int cols) {
    __shared__ int of_warps[2][4];
    for (unsigned int row = 0; row < rows; row++) {
        int mine = 0;
        for (unsigned int c = threadIdx.x; c < cols; c += 128)
            mine += in[row * cols + c];
        for (unsigned int offset = 16; offset > 0; offset /= 2)
            mine += __shfl_xor_sync(0xffffffff, mine, offset);
        int* buffer = of_warps[threadIdx.x / 32 % 2];
        if (threadIdx.x % 32 == 0) buffer[threadIdx.x / 32] = mine;
        __syncthreads();
        int all = buffer[0] + buffer[1] + buffer[2] + buffer[3];
        if (threadIdx.x == 96) out[row] = all;
    }
}
}
