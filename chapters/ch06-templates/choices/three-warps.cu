// Written by `cargo course ptx` from exercises.toml: the kernel of three-warps with each line that it offers.

namespace a {
extern "C" __global__ void sum_a(const unsigned int* in, unsigned int* out, unsigned int n) {
    __shared__ unsigned int of_warps[3];
    unsigned int tid = threadIdx.x, lane = tid % 32;
    unsigned int value = tid < n ? in[tid] : 0;
    value = __reduce_add_sync(0xffffffff, value);
    if (lane == 0) of_warps[tid / 32] = value;
    __syncthreads();
    if (tid >= 32) return;
    value = tid < 3 ? of_warps[tid] : 0;
    for (unsigned int offset = 3 / 2; offset > 0; offset /= 2) {
        value += __shfl_down_sync(0xffffffff, value, offset);
    }
    if (tid == 0) out[0] = value;
}
}

namespace b {
extern "C" __global__ void sum_b(const unsigned int* in, unsigned int* out, unsigned int n) {
    __shared__ unsigned int of_warps[3];
    unsigned int tid = threadIdx.x, lane = tid % 32;
    unsigned int value = tid < n ? in[tid] : 0;
    value = __reduce_add_sync(0xffffffff, value);
    if (lane == 0) of_warps[tid / 32] = value;
    __syncthreads();
    if (tid >= 32) return;
    value = tid < 3 ? of_warps[tid] : 0;
    for (unsigned int offset = 2; offset > 0; offset /= 2) {
        value += __shfl_down_sync(0xffffffff, value, offset);
    }
    if (tid == 0) out[0] = value;
}
}

namespace c {
extern "C" __global__ void sum_c(const unsigned int* in, unsigned int* out, unsigned int n) {
    __shared__ unsigned int of_warps[3];
    unsigned int tid = threadIdx.x, lane = tid % 32;
    unsigned int value = tid < n ? in[tid] : 0;
    value = __reduce_add_sync(0xffffffff, value);
    if (lane == 0) of_warps[tid / 32] = value;
    __syncthreads();
    if (tid >= 32) return;
    value = tid < 3 ? of_warps[tid] : 0;
    for (unsigned int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_down_sync(0xffffffff, value, offset);
    }
    if (tid == 0) out[0] = value;
}
}

namespace d {
extern "C" __global__ void sum_d(const unsigned int* in, unsigned int* out, unsigned int n) {
    __shared__ unsigned int of_warps[3];
    unsigned int tid = threadIdx.x, lane = tid % 32;
    unsigned int value = tid < n ? in[tid] : 0;
    value = __reduce_add_sync(0xffffffff, value);
    if (lane == 0) of_warps[tid / 32] = value;
    __syncthreads();
    if (tid >= 32) return;
    value = tid < 3 ? of_warps[tid] : 0;
    for (unsigned int offset = 3; offset > 0; offset /= 2) {
        value += __shfl_down_sync(0xffffffff, value, offset);
    }
    if (tid == 0) out[0] = value;
}
}
