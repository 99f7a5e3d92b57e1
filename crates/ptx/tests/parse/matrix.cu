// Tensor cores and textures: nothing here executes them, but a file that holds them must still be read.
extern "C" __global__ void matrix(const void* a, float* c, cudaTextureObject_t image, cudaSurfaceObject_t surface) {
    unsigned r0, r1, at = (unsigned)__cvta_generic_to_shared(c);
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(r0), "=r"(r1) : "r"(at));
    float4 d;
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%4,%5}, {%4,%5}, {%0,%1,%2,%3};"
                 : "+f"(d.x), "+f"(d.y), "+f"(d.z), "+f"(d.w) : "r"(r0), "r"(r1));
    asm volatile("{ .reg .b32 a<8>, c<8>; wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {a0, a1, a2, a3, a4, a5, a6, a7}, [%0], 16;\n"
                 "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {c0, c1, c2, c3, c4, c5, c6, c7}, {a0, a1, a2, a3, a4, a5, a6, a7},"
                 " {a0, a1, a2, a3, a4, a5, a6, a7}, {c0, c1, c2, c3, c4, c5, c6, c7};\n"
                 "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%1], {c0, c1, c2, c3, c4, c5, c6, c7}, 16; }" :: "l"(a), "l"(c));
    c[300] = d.x + tex2D<float>(image, 0.5f, 1.5f) + tex1Dfetch<float>(image, 3);
    surf2Dwrite(d.y, surface, 4, 5);
}
