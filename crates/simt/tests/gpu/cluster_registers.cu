// What the threads of a cluster in two dimensions know of where they are.
// simt: --kernel cluster_registers --grid 4,6 --block 32 --cluster 2,3 --arg out=u32[384]:zero --print out
extern "C" __global__ void cluster_registers(unsigned* out) {
    if (threadIdx.x != 0) return;
    unsigned v[16];
    asm("mov.u32 %0, %%clusterid.x; mov.u32 %1, %%clusterid.y; mov.u32 %2, %%clusterid.z;" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]));
    asm("mov.u32 %0, %%nclusterid.x; mov.u32 %1, %%nclusterid.y; mov.u32 %2, %%nclusterid.z;" : "=r"(v[3]), "=r"(v[4]), "=r"(v[5]));
    asm("mov.u32 %0, %%cluster_ctaid.x; mov.u32 %1, %%cluster_ctaid.y; mov.u32 %2, %%cluster_ctaid.z;" : "=r"(v[6]), "=r"(v[7]), "=r"(v[8]));
    asm("mov.u32 %0, %%cluster_nctaid.x; mov.u32 %1, %%cluster_nctaid.y; mov.u32 %2, %%cluster_nctaid.z;" : "=r"(v[9]), "=r"(v[10]), "=r"(v[11]));
    asm("mov.u32 %0, %%cluster_ctarank; mov.u32 %1, %%cluster_nctarank;" : "=r"(v[12]), "=r"(v[13]));
    asm("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p; }" : "=r"(v[14]));
    v[15] = blockIdx.y * 100 + blockIdx.x;
    for (int i = 0; i < 16; i++) out[(blockIdx.y * gridDim.x + blockIdx.x) * 16 + i] = v[i];
}
