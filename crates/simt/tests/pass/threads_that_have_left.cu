// The threads without an element return before the barriers: nobody waits for them. That is no fault, and worth a note.
extern "C" __global__ void left(const int* in, int* out, unsigned n)
{
    __shared__ int parts[64];
    unsigned t = threadIdx.x;
    if (t >= n) return;
    parts[t] = in[t];
    __syncthreads(); //~ NOTE[exited-threads]
    out[t] = parts[n - 1 - t];
}
