// The mask names the lanes below half a warp, and the condition lets one more in.
extern "C" __global__ void half_sum(const int *in, int *out)
{
    __shared__ int parts[32];
    unsigned t = threadIdx.x;
    unsigned mask = __ballot_sync(0xffffffff, t < 16);
    parts[t] = in[t];
    if (t <= 16) {
        __syncwarp(mask); //~ ERROR[mask-mismatch]
    }
    if (t == 0) {
        int sum = 0;
        for (int i = 0; i < 16; i++) {
            sum += parts[i];
        }
        out[0] = sum;
    }
}
