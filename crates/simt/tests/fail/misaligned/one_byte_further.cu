// An int is written one byte behind where an int may stand.
__device__ int value;

extern "C" __global__ void unaligned()
{
    *(int *)((char *)&value + 1) = 42; //~ ERROR[misaligned]
}
