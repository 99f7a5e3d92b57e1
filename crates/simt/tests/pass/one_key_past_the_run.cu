// Each thread reads one key past its run, as merge sorts do, and throws away what it got there.
extern "C" __global__ void past(const int* in, int* out)
{
    __shared__ int keys[65];
    unsigned t = threadIdx.x;
    keys[t] = in[t];
    __syncthreads();
    int next = keys[t + 1];
    out[t] = t < 63 ? next : -1;
}
