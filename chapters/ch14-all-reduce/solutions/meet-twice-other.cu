// Ranks that meet twice in every call: a count on each rank.
//
// A block of each rank adds the same elements, and meets the blocks of its number on the other ranks. The
// kernel is launched three times on each rank, and no rank waits for another one but here.

struct Ranks { unsigned int* of[8]; }; // an array on each rank
struct Flags { unsigned int* of[8]; };

// One word of each rank counts the ranks that have come.
__device__ void meet(const Flags& flags, unsigned int rank, unsigned int ranks, unsigned int step) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence_system();
        for (unsigned int r = 0; r < ranks; r++)
            atomicAdd_system(flags.of[r] + 8 * blockIdx.x, 1u);
        volatile unsigned int* come = flags.of[rank] + 8 * blockIdx.x;
        while (*come < ranks * step) {}
        __threadfence_system();
    }
    __syncthreads();
}

extern "C" __global__ void meet_twice_i32(
    Ranks in, Ranks out, Ranks stage, Flags flags,
    unsigned int rank, unsigned int ranks, unsigned int n, unsigned int call) {
    unsigned int first = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int stride = gridDim.x * blockDim.x;
    for (unsigned int i = first; i < n; i += stride)
        stage.of[rank][i] = in.of[rank][i];
    meet(flags, rank, ranks, 2 * call - 1); // all arrays are there
    for (unsigned int i = first; i < n; i += stride) {
        unsigned int sum = 0;
        for (unsigned int r = 0; r < ranks; r++) sum += stage.of[r][i];
        out.of[rank][i] = sum;
    }
    meet(flags, rank, ranks, 2 * call); // all have read them
}
