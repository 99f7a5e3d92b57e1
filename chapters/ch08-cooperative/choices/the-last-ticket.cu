// Written by `cargo course ptx` from exercises.toml: the kernel of the-last-ticket with each line that it offers.

namespace a {
extern "C" __global__ void sum_a(const unsigned int* in, unsigned int* out, unsigned int n,
                    unsigned long long* state) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int sum = __reduce_add_sync(0xffffffff, i < n ? in[i] : 0);
    if (threadIdx.x == 0) {
        state[1 + blockIdx.x] = sum;
        __threadfence();
        unsigned long long ticket = atomicAdd(state, 1ull);
        __threadfence();
        if (ticket == gridDim.x) {
            for (sum = 0, i = 0; i < gridDim.x; i++) sum += state[1 + i];
            out[0] = sum;
        }
    }
}
}

namespace b {
extern "C" __global__ void sum_b(const unsigned int* in, unsigned int* out, unsigned int n,
                    unsigned long long* state) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int sum = __reduce_add_sync(0xffffffff, i < n ? in[i] : 0);
    if (threadIdx.x == 0) {
        state[1 + blockIdx.x] = sum;
        __threadfence();
        unsigned long long ticket = atomicAdd(state, 1ull);
        __threadfence();
        if (ticket == gridDim.x - 1) {
            for (sum = 0, i = 0; i < gridDim.x; i++) sum += state[1 + i];
            out[0] = sum;
        }
    }
}
}

namespace c {
extern "C" __global__ void sum_c(const unsigned int* in, unsigned int* out, unsigned int n,
                    unsigned long long* state) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int sum = __reduce_add_sync(0xffffffff, i < n ? in[i] : 0);
    if (threadIdx.x == 0) {
        state[1 + blockIdx.x] = sum;
        __threadfence();
        unsigned long long ticket = atomicAdd(state, 1ull);
        __threadfence();
        if (blockIdx.x == gridDim.x - 1) {
            for (sum = 0, i = 0; i < gridDim.x; i++) sum += state[1 + i];
            out[0] = sum;
        }
    }
}
}

namespace d {
extern "C" __global__ void sum_d(const unsigned int* in, unsigned int* out, unsigned int n,
                    unsigned long long* state) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int sum = __reduce_add_sync(0xffffffff, i < n ? in[i] : 0);
    if (threadIdx.x == 0) {
        state[1 + blockIdx.x] = sum;
        __threadfence();
        unsigned long long ticket = atomicAdd(state, 1ull);
        __threadfence();
        if (ticket == 0) {
            for (sum = 0, i = 0; i < gridDim.x; i++) sum += state[1 + i];
            out[0] = sum;
        }
    }
}
}
