// Only the threads that have work go to the barrier.
extern "C" __global__ void halve(int *data)
{
    unsigned t = threadIdx.x;
    if (t < 20) {
        data[t] += data[t + 20];
        __syncthreads(); //~ ERROR[barrier-divergence]
    }
    __syncthreads();
    data[t] *= 2;
}
