// What comes before and after a reduction, where it is tested with launches that overlap.
//
// Idea.   A kernel writes the numbers, the reduction adds them up, a third keeps the sum. If
//         any of the three begins to read before the one before it has written everything,
//         a number of the last round is in the sum, and the sum is wrong.
// Limit.  A test shows what it meets. That it must be so follows from griddepcontrol.wait.
// Worked. Round k holds the small numbers of places k, k + 1, ... of one long sequence, so that
//         a host that knows the sums of its beginnings knows the sum of every round.

// ANCHOR: number
// A whole number from 0 to 15 for each place: 2^20 of them add up to less than 2^24, which
// floats hold exactly, in any order.
__device__ unsigned int number(unsigned long long place) {
    return (static_cast<unsigned int>(place) * 2654435761u) >> 28;
}
// ANCHOR_END: number

// As chapter 8's kernels do: the next launch may begin, and this one waits for the one before.
__device__ void overlap() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

template <typename T>
__device__ void produce(T* in, unsigned long long n, unsigned long long first) {
    overlap();
    unsigned long long stride = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
    for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) in[i] = number(first + i);
}

template <typename T>
__device__ void consume(const T* sum, T* kept, unsigned int round) {
    overlap();
    if (threadIdx.x == 0) kept[round] = *sum;
}

extern "C" __global__ void produce_i32(int* in, unsigned long long n, unsigned long long first) {
    produce(in, n, first);
}
extern "C" __global__ void produce_f32(float* in, unsigned long long n, unsigned long long first) {
    produce(in, n, first);
}
extern "C" __global__ void produce_f64(double* in, unsigned long long n, unsigned long long first) {
    produce(in, n, first);
}
extern "C" __global__ void consume_i32(const int* sum, int* kept, unsigned int round) {
    consume(sum, kept, round);
}
extern "C" __global__ void consume_f32(const float* sum, float* kept, unsigned int round) {
    consume(sum, kept, round);
}
extern "C" __global__ void consume_f64(const double* sum, double* kept, unsigned int round) {
    consume(sum, kept, round);
}

// ANCHOR: repeat
// An array that is larger than what a host wants to make: the first `period` numbers, over and
// over again. They are there already.
extern "C" __global__ void repeat_f32(float* in, unsigned long long n, unsigned long long period) {
    unsigned long long stride = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
    unsigned long long i = period + blockIdx.x * blockDim.x + threadIdx.x;
    for (; i < n; i += stride) in[i] = in[i % period];
}
// ANCHOR_END: repeat
