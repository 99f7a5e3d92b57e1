// Written by `cargo course ptx` from exercises.toml: the kernel of before-the-first-pack with each line that it offers.

namespace a {
struct alignas(16) Pack { unsigned int at[4]; };
extern "C" __global__ void sum_a(const unsigned int* in, unsigned int* out, unsigned int n) {
    unsigned int tid = threadIdx.x;
    unsigned int past = reinterpret_cast<size_t>(in) % 16 / 4;
    unsigned int head = 0;
    unsigned int packs = (n - head) / 4, tail = head + 4 * packs;
    const Pack* packed = reinterpret_cast<const Pack*>(in + head);
    unsigned int sum = 0;
    for (unsigned int i = tid; i < packs; i += 32) {
        Pack pack = packed[i];
        sum += pack.at[0] + pack.at[1] + pack.at[2] + pack.at[3];
    }
    if (tid < head) sum += in[tid];
    if (tail + tid < n) sum += in[tail + tid];
    sum = __reduce_add_sync(0xffffffff, sum);
    if (tid == 0) out[0] = sum;
}
}

namespace b {
struct alignas(16) Pack { unsigned int at[4]; };
extern "C" __global__ void sum_b(const unsigned int* in, unsigned int* out, unsigned int n) {
    unsigned int tid = threadIdx.x;
    unsigned int past = reinterpret_cast<size_t>(in) % 16 / 4;
    unsigned int head = past;
    unsigned int packs = (n - head) / 4, tail = head + 4 * packs;
    const Pack* packed = reinterpret_cast<const Pack*>(in + head);
    unsigned int sum = 0;
    for (unsigned int i = tid; i < packs; i += 32) {
        Pack pack = packed[i];
        sum += pack.at[0] + pack.at[1] + pack.at[2] + pack.at[3];
    }
    if (tid < head) sum += in[tid];
    if (tail + tid < n) sum += in[tail + tid];
    sum = __reduce_add_sync(0xffffffff, sum);
    if (tid == 0) out[0] = sum;
}
}

namespace c {
struct alignas(16) Pack { unsigned int at[4]; };
extern "C" __global__ void sum_c(const unsigned int* in, unsigned int* out, unsigned int n) {
    unsigned int tid = threadIdx.x;
    unsigned int past = reinterpret_cast<size_t>(in) % 16 / 4;
    unsigned int head = (4 - past) % 4;
    unsigned int packs = (n - head) / 4, tail = head + 4 * packs;
    const Pack* packed = reinterpret_cast<const Pack*>(in + head);
    unsigned int sum = 0;
    for (unsigned int i = tid; i < packs; i += 32) {
        Pack pack = packed[i];
        sum += pack.at[0] + pack.at[1] + pack.at[2] + pack.at[3];
    }
    if (tid < head) sum += in[tid];
    if (tail + tid < n) sum += in[tail + tid];
    sum = __reduce_add_sync(0xffffffff, sum);
    if (tid == 0) out[0] = sum;
}
}

namespace d {
struct alignas(16) Pack { unsigned int at[4]; };
extern "C" __global__ void sum_d(const unsigned int* in, unsigned int* out, unsigned int n) {
    unsigned int tid = threadIdx.x;
    unsigned int past = reinterpret_cast<size_t>(in) % 16 / 4;
    unsigned int head = min(n, (4 - past) % 4);
    unsigned int packs = (n - head) / 4, tail = head + 4 * packs;
    const Pack* packed = reinterpret_cast<const Pack*>(in + head);
    unsigned int sum = 0;
    for (unsigned int i = tid; i < packs; i += 32) {
        Pack pack = packed[i];
        sum += pack.at[0] + pack.at[1] + pack.at[2] + pack.at[3];
    }
    if (tid < head) sum += in[tid];
    if (tail + tid < n) sum += in[tail + tid];
    sum = __reduce_add_sync(0xffffffff, sum);
    if (tid == 0) out[0] = sum;
}
}
