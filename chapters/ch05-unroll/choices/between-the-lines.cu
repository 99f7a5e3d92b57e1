// Written by `cargo course ptx` from exercises.toml: the kernel of between-the-lines with each line that it offers.

namespace a {
extern "C" __global__ void sum_a(const unsigned int* in, unsigned int* out, unsigned int n) {
    __shared__ unsigned int sums[64];
    unsigned int tid = threadIdx.x;
    unsigned int sum = tid < n ? in[tid] : 0;
    sums[tid] = sum;
    sums[tid + 32] = 0;
    __syncwarp();
    for (unsigned int s = 16; s > 0; s /= 2) {
        sum += sums[tid + s];
        // nothing
        sums[tid] = sum;
        // nothing
    }
    if (tid == 0) out[0] = sum;
}
}

namespace b {
extern "C" __global__ void sum_b(const unsigned int* in, unsigned int* out, unsigned int n) {
    __shared__ unsigned int sums[64];
    unsigned int tid = threadIdx.x;
    unsigned int sum = tid < n ? in[tid] : 0;
    sums[tid] = sum;
    sums[tid + 32] = 0;
    __syncwarp();
    for (unsigned int s = 16; s > 0; s /= 2) {
        sum += sums[tid + s];
        // nothing
        sums[tid] = sum;
        __syncwarp();
    }
    if (tid == 0) out[0] = sum;
}
}

namespace c {
extern "C" __global__ void sum_c(const unsigned int* in, unsigned int* out, unsigned int n) {
    __shared__ unsigned int sums[64];
    unsigned int tid = threadIdx.x;
    unsigned int sum = tid < n ? in[tid] : 0;
    sums[tid] = sum;
    sums[tid + 32] = 0;
    __syncwarp();
    for (unsigned int s = 16; s > 0; s /= 2) {
        sum += sums[tid + s];
        __syncwarp();
        sums[tid] = sum;
        // nothing
    }
    if (tid == 0) out[0] = sum;
}
}

namespace d {
extern "C" __global__ void sum_d(const unsigned int* in, unsigned int* out, unsigned int n) {
    __shared__ unsigned int sums[64];
    unsigned int tid = threadIdx.x;
    unsigned int sum = tid < n ? in[tid] : 0;
    sums[tid] = sum;
    sums[tid + 32] = 0;
    __syncwarp();
    for (unsigned int s = 16; s > 0; s /= 2) {
        sum += sums[tid + s];
        __syncwarp();
        sums[tid] = sum;
        __syncwarp();
    }
    if (tid == 0) out[0] = sum;
}
}

namespace e {
extern "C" __global__ void sum_e(const unsigned int* in, unsigned int* out, unsigned int n) {
    __shared__ unsigned int sums[64];
    unsigned int tid = threadIdx.x;
    unsigned int sum = tid < n ? in[tid] : 0;
    sums[tid] = sum;
    sums[tid + 32] = 0;
    __syncwarp();
    for (unsigned int s = 16; s > 0; s /= 2) {
        sum += sums[tid + s];
        __threadfence_block();
        sums[tid] = sum;
        __threadfence_block();
    }
    if (tid == 0) out[0] = sum;
}
}
