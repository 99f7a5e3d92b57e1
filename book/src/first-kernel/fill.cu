// Every thread writes its own number. The page offers five lines for the guard; each has a kernel here, so that each really runs.
extern "C" __global__ void fill_a(int *numbers, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    numbers[i] = i;
}

extern "C" __global__ void fill_b(int *numbers, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n)
        numbers[i] = i;
}

extern "C" __global__ void fill_c(int *numbers, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        numbers[i] = i;
}

extern "C" __global__ void fill_d(int *numbers, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < n)
        numbers[i] = i;
}

extern "C" __global__ void fill_e(int *numbers, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n - 1)
        numbers[i] = i;
}
