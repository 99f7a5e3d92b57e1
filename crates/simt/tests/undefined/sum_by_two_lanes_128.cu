// Two lanes add up what a block has in shared memory, with a warp barrier for all 32 between the steps. The other lanes skip it, do
// a little, and exit.
// simt: --kernel sum_by_two_lanes_128 --grid 3 --block 128 --arg in=i32[384]:hash8 --arg out=i32[3]:zero --arg seen=i32[384]:zero --print out --print seen
extern "C" __global__ void sum_by_two_lanes_128(const int* in, int* out, int* seen) {
    __shared__ int parts[128];
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    parts[t] = in[i];
    __syncthreads();
    if (t < 2) {
        int sum = 0;
        for (unsigned k = t; k < blockDim.x; k += 2) sum += parts[k];
        parts[t] = sum;
        __syncwarp();
        if (t == 0) out[blockIdx.x] = parts[0] + parts[1];
    }
    seen[i] = in[i] * 2 + 1;
}
