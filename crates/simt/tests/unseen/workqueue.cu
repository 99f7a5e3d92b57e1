// Persistent blocks with a dynamic queue that grows: items published by flag after payload; count of tasks done; sum deterministic
// simt: --kernel workqueue --grid 4 --block 32 --arg item=i32[2048]:zero --arg ready=i32[2048]:zero --arg ctl=i32[4]:zero --arg sum=u64[1]:zero --print sum
extern "C" __global__ void workqueue(int *item, int *ready, int *ctl, unsigned long long *sum)
{
    // ctl[0] head, ctl[1] tail, ctl[2] pending+1 once started, ctl[3] done
    if (blockIdx.x == 0 && threadIdx.x == 0) { item[0] = 9; __threadfence(); atomicExch(ready, 1); }
    if (threadIdx.x != 0) return;
    const int total = 1023;
    while (true) {
        int at = atomicAdd(ctl, 1);
        if (at >= total) break;
        while (atomicAdd(ready + at, 0) == 0) __nanosleep(100);
        __threadfence();
        int v = item[at];
        atomicAdd(sum, (unsigned long long)v * v + 1);
        if (v > 0) for (int k = 0; k < 2; k++) {
            int to = 1 + atomicAdd(ctl + 1, 1);
            item[to] = v - 1;
            __threadfence();
            atomicExch(ready + to, 1);
        }
    }
}
