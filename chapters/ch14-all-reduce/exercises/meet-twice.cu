// Exercise: ranks that meet twice in every call.
//
// A block of each rank adds the same elements, and meets the blocks of its number on the other ranks. The
// kernel is launched three times on each rank, and no rank waits for another one but here.

struct Ranks { unsigned int* of[8]; }; // an array on each rank
struct Flags { unsigned int* of[8]; };

// ANCHOR: starter
// flags.of[r] lies with rank r, and has 8 words for each block, which are 0
// before the first call. `step` is 1, 2, 3, ... and the same on all ranks.
__device__ void meet(const Flags& flags, unsigned int rank, unsigned int ranks, unsigned int step) {
    // TODO: come back when block blockIdx.x of every rank has come here with
    // this step, and when all can see what each has done before.
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
// ANCHOR_END: starter
