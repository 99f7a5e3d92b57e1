// Written by `cargo course ptx` from exercises.toml: the kernel of second-load with each line that it offers.

namespace a {
extern "C" __global__ void sum_a(const unsigned int* in, unsigned int* out, unsigned int n) {
    __shared__ unsigned int sums[32];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (blockDim.x * 2) + tid;
    unsigned int sum = i < n ? in[i] : 0;
    sum += in[i + blockDim.x];
    sums[tid] = sum;
    __syncthreads();
    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) sums[tid] += sums[tid + s];
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = sums[0];
}
}

namespace b {
extern "C" __global__ void sum_b(const unsigned int* in, unsigned int* out, unsigned int n) {
    __shared__ unsigned int sums[32];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (blockDim.x * 2) + tid;
    unsigned int sum = i < n ? in[i] : 0;
    if (i < n) sum += in[i + blockDim.x];
    sums[tid] = sum;
    __syncthreads();
    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) sums[tid] += sums[tid + s];
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = sums[0];
}
}

namespace c {
extern "C" __global__ void sum_c(const unsigned int* in, unsigned int* out, unsigned int n) {
    __shared__ unsigned int sums[32];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (blockDim.x * 2) + tid;
    unsigned int sum = i < n ? in[i] : 0;
    if (i + blockDim.x < n) sum += in[i + blockDim.x];
    sums[tid] = sum;
    __syncthreads();
    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) sums[tid] += sums[tid + s];
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = sums[0];
}
}

namespace d {
extern "C" __global__ void sum_d(const unsigned int* in, unsigned int* out, unsigned int n) {
    __shared__ unsigned int sums[32];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (blockDim.x * 2) + tid;
    unsigned int sum = i < n ? in[i] : 0;
    if (i + 1 < n) sum += in[i + 1];
    sums[tid] = sum;
    __syncthreads();
    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) sums[tid] += sums[tid + s];
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = sums[0];
}
}
