// Each rank adds one part: contributions are sent, and so are the sums.
//
// A block of each rank meets the blocks of its number on the other ranks. The kernel is launched three times
// on each rank, and no rank waits for another one but in a meeting.

struct Ranks { float* of[8]; }; // an array on each rank
struct Flags { unsigned int* of[8]; };

__device__ void set(unsigned int* flag, unsigned int value) {
    asm volatile("st.release.sys.u32 [%0], %1;" :: "l"(flag), "r"(value) : "memory");
}
__device__ unsigned int look(const unsigned int* flag) {
    unsigned int value;
    asm volatile("ld.acquire.sys.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
    return value;
}

// Block blockIdx.x of every rank has come here with this step before one goes on, and all see what each has
// done before. Steps are 1, 2, 3, ... and the same on all ranks.
__device__ void meet(const Flags& flags, unsigned int rank, unsigned int ranks, unsigned int step) {
    __syncthreads();
    unsigned int peer = threadIdx.x, at = 8 * blockIdx.x;
    if (peer < ranks) {
        set(flags.of[peer] + at + rank, step);
        while (look(flags.of[rank] + at + peer) < step) {}
    }
    __syncthreads();
}

extern "C" __global__ void two_shots_f32(
    Ranks in, Ranks out, Ranks stage, Flags flags,
    unsigned int rank, unsigned int ranks, unsigned int n, unsigned int call) {
    unsigned int part = (n + ranks - 1) / ranks; // the last ones may be shorter
    unsigned int first = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int stride = gridDim.x * blockDim.x;
    for (unsigned int k = 1; k < ranks; k++) {
        unsigned int owner = (rank + k) % ranks, begin = owner * part;
        for (unsigned int i = first; i < part && begin + i < n; i += stride)
            stage.of[owner][rank * part + i] = in.of[rank][begin + i];
    }
    meet(flags, rank, ranks, 2 * call - 1); // all contributions are there
    for (unsigned int i = first; i < part && rank * part + i < n; i += stride) {
        unsigned int at = rank * part + i;
        float sum = 0;
        for (unsigned int r = 0; r < ranks; r++)
            sum += r == rank ? in.of[r][at] : stage.of[rank][r * part + i];
        for (unsigned int k = 0; k < ranks; k++) out.of[(rank + k) % ranks][at] = sum;
    }
    meet(flags, rank, ranks, 2 * call); // all sums are there, and the stage may be used again
}
