// threadFenceReduction as NVIDIA's older sample has it: every thread fences, then t0 takes a ticket; the last block reads after the barrier
// simt: --kernel mail_d --grid 6 --block 64 --arg data=i32[384]:zero --arg n=u32[1]:zero --arg out=i32[1]:zero --print out
extern "C" __global__ void mail_d(int *data, unsigned *n, int *out)
{
    int b = blockIdx.x, t = threadIdx.x; __shared__ bool last; __shared__ int sum;
    data[b * 64 + t] = b * 100 + t;
    __threadfence();
    __syncthreads();
    if (t == 0) { last = atomicInc(n, gridDim.x) == gridDim.x - 1; sum = 0; }
    __syncthreads();
    if (last) {
        __threadfence();
        int a = 0;
        for (int k = t; k < 384; k += 64) a += data[(k * 5) % 384];
        atomicAdd(&sum, a);
        __syncthreads();
        if (t == 0) *out = sum;
    }
}
