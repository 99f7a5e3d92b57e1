// One warp leaves numbers, another waits for them at a volatile flag. The numbers are volatile too, and no fence puts them before
// the flag.
extern "C" __global__ void pass_on(const int* in, int* out) {
    __shared__ volatile int numbers[32];
    __shared__ volatile int flag;
    unsigned t = threadIdx.x;
    if (t == 0) flag = 0;
    __syncthreads();
    if (t < 32) {
        numbers[t] = 2 * in[t];
        __syncwarp();
        if (t == 0) flag = 1;
    } else {
        while (flag == 0) {}
        out[t - 32] = numbers[63 - t]; //~ ERROR[shared-race]
    }
}
