// Of 64 threads that a named barrier counts, 48 come. The others skip it, do a little, and exit.
// simt: --kernel named_barrier_without_lanes --grid 2 --block 64 --arg in=i32[128]:hash8 --arg out=i32[128]:zero --print out
extern "C" __global__ void named_barrier_without_lanes(const int* in, int* out) {
    __shared__ int parts[64];
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    parts[t] = in[i];
    int v = 5;
    if (t < 48) {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        v = parts[(t + 32) % 48];
    }
    out[i] = v;
}
