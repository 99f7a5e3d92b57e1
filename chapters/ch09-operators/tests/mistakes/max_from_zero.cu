// A mistake: the largest element, looked for from 0 on. Where all elements are negative, the answer is none of them.

// ANCHOR: mistake
extern "C" __global__ void max_from_zero_max_i32(const int* in, int* out,
                                                 unsigned int n) {
    __shared__ int of_threads[256];
    int largest = 0; // changes some elements: those below it
    for (unsigned int i = threadIdx.x; i < n; i += 256)
        largest = max(largest, in[i]);
    of_threads[threadIdx.x] = largest;
    __syncthreads();
    for (unsigned int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half)
            of_threads[threadIdx.x] =
                max(of_threads[threadIdx.x], of_threads[threadIdx.x + half]);
        __syncthreads();
    }
    if (threadIdx.x == 0) *out = of_threads[0];
}
// ANCHOR_END: mistake
