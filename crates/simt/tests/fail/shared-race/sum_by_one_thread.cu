// One thread adds up what all have written, and no barrier says that they have.
extern "C" __global__ void block_sum(const int *in, int *out)
{
    __shared__ int parts[128];
    parts[threadIdx.x] = 0;
    __syncthreads();
    parts[threadIdx.x] = in[threadIdx.x]; //~ ERROR[shared-race]
    if (threadIdx.x == 0) {
        int sum = 0;
        #pragma unroll 1
        for (int i = 0; i < 128; i++) {
            sum += parts[i]; //~ ERROR[shared-race]
        }
        out[0] = sum;
    }
}
