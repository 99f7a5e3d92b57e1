// Written by `cargo course ptx` from exercises.toml: the kernel of who-is-in-the-mask with each line that it offers.

namespace a {
extern "C" __global__ void sum_a(const unsigned int* in, unsigned int* out, unsigned int n) {
    unsigned int tid = threadIdx.x;
    unsigned int sum = tid < n ? in[tid] : 0;
    if (tid < 16) {
        for (unsigned int offset = 8; offset > 0; offset /= 2) {
            sum += __shfl_down_sync(0xffffffff, sum, offset, 16);
        }
    }
    __syncthreads();
    if (tid == 0) out[0] = sum;
}
}

namespace b {
extern "C" __global__ void sum_b(const unsigned int* in, unsigned int* out, unsigned int n) {
    unsigned int tid = threadIdx.x;
    unsigned int sum = tid < n ? in[tid] : 0;
    if (tid < 16) {
        for (unsigned int offset = 8; offset > 0; offset /= 2) {
            sum += __shfl_down_sync(0x0000ffff, sum, offset, 16);
        }
    }
    __syncthreads();
    if (tid == 0) out[0] = sum;
}
}

namespace c {
extern "C" __global__ void sum_c(const unsigned int* in, unsigned int* out, unsigned int n) {
    unsigned int tid = threadIdx.x;
    unsigned int sum = tid < n ? in[tid] : 0;
    if (tid < 16) {
        for (unsigned int offset = 8; offset > 0; offset /= 2) {
            sum += __shfl_down_sync(0x000000ff, sum, offset, 16);
        }
    }
    __syncthreads();
    if (tid == 0) out[0] = sum;
}
}

namespace d {
extern "C" __global__ void sum_d(const unsigned int* in, unsigned int* out, unsigned int n) {
    unsigned int tid = threadIdx.x;
    unsigned int sum = tid < n ? in[tid] : 0;
    if (tid < 16) {
        for (unsigned int offset = 8; offset > 0; offset /= 2) {
            sum += __shfl_down_sync(0xffff0000, sum, offset, 16);
        }
    }
    __syncthreads();
    if (tid == 0) out[0] = sum;
}
}
