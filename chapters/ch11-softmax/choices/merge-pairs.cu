// Written by `cargo course ptx` from exercises.toml: the kernel of merge-pairs with each line that it offers.

namespace a {
extern "C" __global__ void logsumexp_a(const float* in, float* out, unsigned int rows,
                          unsigned int cols) {
    unsigned int lane = threadIdx.x;
    float max = -1e30f, sum = 0;
    for (unsigned int c = lane; c < cols; c += 32) {
        float x = in[blockIdx.x * cols + c], larger = fmaxf(max, x);
        sum = sum * expf(max - larger) + expf(x - larger);
        max = larger;
    }
    for (unsigned int offset = 16; offset > 0; offset /= 2) {
        float other_max = __shfl_xor_sync(0xffffffff, max, offset);
        float other_sum = __shfl_xor_sync(0xffffffff, sum, offset);
        float larger = fmaxf(max, other_max);
        sum = sum + other_sum;
        max = larger;
    }
    if (lane == 0) out[blockIdx.x] = max + logf(sum);
}
}

namespace b {
extern "C" __global__ void logsumexp_b(const float* in, float* out, unsigned int rows,
                          unsigned int cols) {
    unsigned int lane = threadIdx.x;
    float max = -1e30f, sum = 0;
    for (unsigned int c = lane; c < cols; c += 32) {
        float x = in[blockIdx.x * cols + c], larger = fmaxf(max, x);
        sum = sum * expf(max - larger) + expf(x - larger);
        max = larger;
    }
    for (unsigned int offset = 16; offset > 0; offset /= 2) {
        float other_max = __shfl_xor_sync(0xffffffff, max, offset);
        float other_sum = __shfl_xor_sync(0xffffffff, sum, offset);
        float larger = fmaxf(max, other_max);
        sum = sum * expf(max - larger) + other_sum;
        max = larger;
    }
    if (lane == 0) out[blockIdx.x] = max + logf(sum);
}
}

namespace c {
extern "C" __global__ void logsumexp_c(const float* in, float* out, unsigned int rows,
                          unsigned int cols) {
    unsigned int lane = threadIdx.x;
    float max = -1e30f, sum = 0;
    for (unsigned int c = lane; c < cols; c += 32) {
        float x = in[blockIdx.x * cols + c], larger = fmaxf(max, x);
        sum = sum * expf(max - larger) + expf(x - larger);
        max = larger;
    }
    for (unsigned int offset = 16; offset > 0; offset /= 2) {
        float other_max = __shfl_xor_sync(0xffffffff, max, offset);
        float other_sum = __shfl_xor_sync(0xffffffff, sum, offset);
        float larger = fmaxf(max, other_max);
        sum = (sum + other_sum) * expf(max - larger);
        max = larger;
    }
    if (lane == 0) out[blockIdx.x] = max + logf(sum);
}
}

namespace d {
extern "C" __global__ void logsumexp_d(const float* in, float* out, unsigned int rows,
                          unsigned int cols) {
    unsigned int lane = threadIdx.x;
    float max = -1e30f, sum = 0;
    for (unsigned int c = lane; c < cols; c += 32) {
        float x = in[blockIdx.x * cols + c], larger = fmaxf(max, x);
        sum = sum * expf(max - larger) + expf(x - larger);
        max = larger;
    }
    for (unsigned int offset = 16; offset > 0; offset /= 2) {
        float other_max = __shfl_xor_sync(0xffffffff, max, offset);
        float other_sum = __shfl_xor_sync(0xffffffff, sum, offset);
        float larger = fmaxf(max, other_max);
        sum = sum * expf(larger - max) + other_sum * expf(larger - other_max);
        max = larger;
    }
    if (lane == 0) out[blockIdx.x] = max + logf(sum);
}
}

namespace e {
extern "C" __global__ void logsumexp_e(const float* in, float* out, unsigned int rows,
                          unsigned int cols) {
    unsigned int lane = threadIdx.x;
    float max = -1e30f, sum = 0;
    for (unsigned int c = lane; c < cols; c += 32) {
        float x = in[blockIdx.x * cols + c], larger = fmaxf(max, x);
        sum = sum * expf(max - larger) + expf(x - larger);
        max = larger;
    }
    for (unsigned int offset = 16; offset > 0; offset /= 2) {
        float other_max = __shfl_xor_sync(0xffffffff, max, offset);
        float other_sum = __shfl_xor_sync(0xffffffff, sum, offset);
        float larger = fmaxf(max, other_max);
        sum = sum * expf(max - larger) + other_sum * expf(other_max - larger);
        max = larger;
    }
    if (lane == 0) out[blockIdx.x] = max + logf(sum);
}
}
