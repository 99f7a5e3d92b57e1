// Half of the second warp has exited before a named barrier that counts 64 threads.
// simt: --kernel named_barrier_after_exits --grid 2 --block 64 --arg in=i32[128]:hash8 --arg out=i32[128]:zero --print out
extern "C" __global__ void named_barrier_after_exits(const int* in, int* out) {
    __shared__ int parts[64];
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    parts[t] = in[i];
    if (t >= 48) return;
    asm volatile("bar.sync 1, 64;" ::: "memory");
    out[i] = parts[(t + 32) % 48];
}
