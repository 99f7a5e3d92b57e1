// A mistake: of equal elements, the one whose thread comes last. No two accesses race, and yet who is last is a
// matter of the schedule.

struct Place { unsigned long long index; int value, unused; };

// ANCHOR: mistake
extern "C" __global__ void any_tie_argmax_i8(const signed char* in,
                                             Place* out, unsigned int n) {
    __shared__ int largest;
    __shared__ unsigned int where;
    if (threadIdx.x == 0) {
        largest = -129;
        where = 0;
    }
    __syncthreads();
    for (unsigned int i = threadIdx.x; i < n; i += 256) {
        int x = in[i];
        if (atomicMax(&largest, x) <= x) atomicExch(&where, i);
    }
    __syncthreads();
    if (threadIdx.x == 0) *out = {where, largest, 0};
}
// ANCHOR_END: mistake
