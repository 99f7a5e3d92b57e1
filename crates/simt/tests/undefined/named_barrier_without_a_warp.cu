// A named barrier counts 64 threads, and one of the two warps has exited.
// simt: --kernel named_barrier_without_a_warp --grid 2 --block 64 --arg in=i32[128]:hash8 --arg out=i32[128]:zero --print out
extern "C" __global__ void named_barrier_without_a_warp(const int* in, int* out) {
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (t >= 32) return;
    asm volatile("bar.sync 1, 64;" ::: "memory");
    out[i] = in[i] + 1;
}
