// Each thread sorts a local array by recursion: pointers into the caller's frame.
// simt: --kernel quicksort --grid 2 --block 48 --arg in=u32[1152]:hash8 --arg out=u32[1152]:zero --print out
#define N 12
__device__ __noinline__ void sort(unsigned* a, int low, int high) {
    if (low >= high) return;
    unsigned pivot = a[(low + high) / 2];
    int i = low, j = high;
    while (i <= j) {
        while (a[i] < pivot) ++i;
        while (a[j] > pivot) --j;
        if (i <= j) {
            unsigned t = a[i];
            a[i++] = a[j];
            a[j--] = t;
        }
    }
    sort(a, low, j);
    sort(a, i, high);
}

extern "C" __global__ void quicksort(const unsigned* in, unsigned* out) {
    unsigned first = (blockIdx.x * blockDim.x + threadIdx.x) * N;
    unsigned a[N];
    for (int k = 0; k < N; ++k) a[k] = in[first + k];
    sort(a, 0, N - 1);
    for (int k = 0; k < N; ++k) out[first + k] = a[k];
}
