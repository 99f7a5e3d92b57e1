// Whoever finds the number says so in a volatile word, and everybody looks there between two steps. A look may come too
// early, and then the next one tells.
extern "C" __global__ void search(const int* in, int wanted, volatile int* found, int* place) {
    unsigned first = blockIdx.x * 256 + threadIdx.x;
    for (unsigned i = first; i < first + 256 - threadIdx.x; i += 32) {
        if (*found) return;
        if (in[i] == wanted) {
            *place = i;
            *found = 1;
        }
    }
}
