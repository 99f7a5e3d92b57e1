// barrier in a loop whose trip count differs between warps is avoided by exits: warps leave one after another, the rest go on with __syncthreads
// simt: --kernel multi_exit --grid 2 --block 160 --arg o=i32[320]:zero --print o
extern "C" __global__ void multi_exit(int *o)
{
    __shared__ int s;
    int w = threadIdx.x / 32, x = 0;
    if (threadIdx.x == 159) s = 0;
    for (int k = 0; k < 5; k++) {
        __syncthreads();
        if (w == k) { o[blockIdx.x * 160 + threadIdx.x] = x; return; }
        if (threadIdx.x == 159) s = k * k + 1;
        __syncthreads();
        x = x * 3 + s;
    }
}
