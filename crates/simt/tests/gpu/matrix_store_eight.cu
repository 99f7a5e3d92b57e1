// stmatrix (sm_90) with rows 128 bytes apart: all eight of a matrix in the same four banks.
// simt: --kernel matrix_store_eight --grid 1 --block 32 --arg in=u32[128]:hash8 --arg step=u32:8 --arg out=u32[6144]:zero --print out
#define STORE(count, trans, ...) \
    asm volatile("stmatrix.sync.aligned.m8n8." count trans ".shared.b16 [%0], {" __VA_ARGS__ "};" \
                 :: "r"(row), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory"); \
    keep(s, out, t); \
    for (unsigned i = 0; i < 4; i++) r[i] = r[i] * 5 + 1; \
    out += 1024

__device__ void keep(const unsigned* s, unsigned* out, unsigned t) {
    __syncwarp();
#pragma unroll 1
    for (unsigned i = t; i < 1024; i += 32) out[i] = s[i];
    __syncwarp();
}

extern "C" __global__ void matrix_store_eight(const unsigned* in, unsigned step, unsigned* out) {
    __shared__ alignas(128) unsigned s[1024];
    unsigned t = threadIdx.x, r[4];
#pragma unroll 1
    for (unsigned i = t; i < 1024; i += 32) s[i] = 0;
    for (unsigned i = 0; i < 4; i++) r[i] = in[32 * i + t] * 2654435761u + t;
    __syncwarp();
    // Where the lane's row of a matrix begins: one of 256 places of 16 bytes.
    unsigned row = (unsigned)__cvta_generic_to_shared(s) + t * step % 256 * 16;
    STORE("x4", "", "%1, %2, %3, %4");
    STORE("x2", "", "%1, %2");
    STORE("x1", "", "%1");
    STORE("x4", ".trans", "%1, %2, %3, %4");
    STORE("x2", ".trans", "%1, %2");
    STORE("x1", ".trans", "%1");
}
