// Each thread replaces its element by the mean of it and the next one, which belongs to another thread.
extern "C" __global__ void smooth(float* x) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float next = x[i + 1];
    x[i] = (x[i] + next) / 2; //~ ERROR[global-race]
}
