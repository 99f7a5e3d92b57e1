// Constants, global variables, local arrays, static and dynamic shared memory, by name and through one generic pointer.
// simt: --kernel memory_spaces --grid 3 --block 96 --shared 384 --arg out=i32[864]:zero --print out
__constant__ int primes[8] = {2, 3, 5, 7, 11, 13, 17, -19};
__device__ int table[4] = {100, -200, 300, -400};

__device__ __noinline__ int sum(const int* p, int n, int step) {
    int total = 0;
    for (int i = 0; i < n; i++) total += p[i * step];
    return total;
}

extern "C" __global__ void memory_spaces(int* out) {
    extern __shared__ int dynamic[];
    __shared__ int fixed[96];
    int local[8];
    int t = threadIdx.x;
    for (int i = 0; i < 8; i++) local[i] = primes[(t + i) % 8] * (i + 1);
    fixed[t] = t * 3;
    dynamic[95 - t] = t * 5;
    __syncthreads();
    const int* places[4] = {local, fixed, dynamic, table};
    int* mine = out + 3 * (blockIdx.x * blockDim.x + t);
    mine[0] = sum(places[t % 4], 4, 1);
    mine[1] = sum(places[(t + blockIdx.x) % 3], 2, 3);
    mine[2] = local[t % 8] + fixed[(t + 1) % 96] + dynamic[t] + table[t % 4];
}
