// A tree sum in place, in global memory, without the barrier between its steps.
extern "C" __global__ void tree(int* x) {
    int* mine = x + blockIdx.x * 128;
    for (unsigned stride = 64; stride >= 32; stride /= 2) {
        if (threadIdx.x < stride) mine[threadIdx.x] += mine[threadIdx.x + stride]; //~ ERROR[global-race]
    }
}
