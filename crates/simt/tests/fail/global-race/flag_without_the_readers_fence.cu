// One block leaves a value and sets a flag; the other waits for the flag and takes the value.
extern "C" __global__ void hand_over(volatile unsigned* flag, int* value, int* out) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        *value = 42;
        __threadfence();
        *flag = 1;
    } else {
        while (*flag == 0) {}
        *out = *value; //~ ERROR[global-race]
    }
}
