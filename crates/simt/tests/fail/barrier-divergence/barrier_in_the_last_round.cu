// The threads that have an element wait for each other in the loop. In the last round some lanes of the second warp have none.
extern "C" __global__ void block_sum(const int *in, int *out, int n)
{
    __shared__ int parts[64];
    unsigned t = threadIdx.x;
    parts[t] = 0;
    __syncthreads();
    for (int round = 0; round < 4; round++) {
        int i = round * 64 + t;
        if (i < n) {
            parts[t] += in[i];
            __syncthreads(); //~ ERROR[barrier-divergence]
        }
    }
    __syncthreads();
    if (t == 0) {
        int sum = 0;
        for (int i = 0; i < 64; i++) {
            sum += parts[i];
        }
        out[0] = sum;
    }
}
