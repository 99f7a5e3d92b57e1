// ldmatrix with rows 32 bytes apart: two of a matrix in the same four banks.
// simt: --kernel matrix_load_two --grid 1 --block 32 --arg in=u32[1024]:hash8 --arg rows=u32[32]:iota --arg step=u32:2 --arg out=u32[448]:zero --print out
#define LOAD(count, trans, at, ...) \
    asm volatile("ldmatrix.sync.aligned.m8n8." count trans ".shared.b16 {" __VA_ARGS__ "}, [%4];" \
                 : "=r"(r[at]), "=r"(r[at + 1]), "=r"(r[at + 2]), "=r"(r[at + 3]) : "r"(row) : "memory")

extern "C" __global__ void matrix_load_two(const unsigned* in, const unsigned* rows, unsigned step, unsigned* out) {
    __shared__ alignas(128) unsigned s[1024];
    unsigned t = threadIdx.x, r[17] = {};
#pragma unroll 1
    for (unsigned i = t; i < 1024; i += 32) s[i] = in[i] * 2654435761u + i;
    __syncwarp();
    // Where the lane's row of a matrix begins: one of 256 places of 16 bytes.
    unsigned row = (unsigned)__cvta_generic_to_shared(s) + rows[t] * step % 256 * 16;
    LOAD("x4", "", 0, "%0, %1, %2, %3");
    LOAD("x2", "", 4, "%0, %1");
    LOAD("x1", "", 6, "%0");
    LOAD("x4", ".trans", 7, "%0, %1, %2, %3");
    LOAD("x2", ".trans", 11, "%0, %1");
    LOAD("x1", ".trans", 13, "%0");
    for (unsigned i = 0; i < 14; i++) out[32 * i + t] = r[i];
}
