// Written by `cargo course ptx` from exercises.toml: the kernel of what-changes-nothing with each line that it offers.

namespace a {
extern "C" __global__ void largest_a(const int* in, int* out, unsigned int n) {
    __shared__ int values[64];
    unsigned int tid = threadIdx.x;
    values[tid] = tid < n ? in[tid] : 0;
    __syncthreads();
    for (unsigned int s = 32; s > 0; s /= 2) {
        if (tid < s) values[tid] = max(values[tid], values[tid + s]);
        __syncthreads();
    }
    if (tid == 0) out[0] = values[0];
}
}

namespace b {
extern "C" __global__ void largest_b(const int* in, int* out, unsigned int n) {
    __shared__ int values[64];
    unsigned int tid = threadIdx.x;
    values[tid] = tid < n ? in[tid] : -100;
    __syncthreads();
    for (unsigned int s = 32; s > 0; s /= 2) {
        if (tid < s) values[tid] = max(values[tid], values[tid + s]);
        __syncthreads();
    }
    if (tid == 0) out[0] = values[0];
}
}

namespace c {
extern "C" __global__ void largest_c(const int* in, int* out, unsigned int n) {
    __shared__ int values[64];
    unsigned int tid = threadIdx.x;
    values[tid] = tid < n ? in[tid] : 2147483647;
    __syncthreads();
    for (unsigned int s = 32; s > 0; s /= 2) {
        if (tid < s) values[tid] = max(values[tid], values[tid + s]);
        __syncthreads();
    }
    if (tid == 0) out[0] = values[0];
}
}

namespace d {
extern "C" __global__ void largest_d(const int* in, int* out, unsigned int n) {
    __shared__ int values[64];
    unsigned int tid = threadIdx.x;
    values[tid] = tid < n ? in[tid] : -2147483647 - 1;
    __syncthreads();
    for (unsigned int s = 32; s > 0; s /= 2) {
        if (tid < s) values[tid] = max(values[tid], values[tid + s]);
        __syncthreads();
    }
    if (tid == 0) out[0] = values[0];
}
}

namespace e {
extern "C" __global__ void largest_e(const int* in, int* out, unsigned int n) {
    __shared__ int values[64];
    unsigned int tid = threadIdx.x;
    values[tid] = tid < n ? in[tid] : in[0];
    __syncthreads();
    for (unsigned int s = 32; s > 0; s /= 2) {
        if (tid < s) values[tid] = max(values[tid], values[tid + s]);
        __syncthreads();
    }
    if (tid == 0) out[0] = values[0];
}
}
