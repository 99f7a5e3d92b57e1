// A mistake: the number of the row is cut to 16 bits.

template <typename T>
__device__ void row_sums(const T* in, T* out, unsigned int rows, unsigned int cols) {
    unsigned int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8, lane = threadIdx.x % 8;
    bool is_there = row < rows;
    row = (unsigned short)row;
    T sum = 0;
    for (unsigned int c = lane; is_there && c < cols; c += 8) sum += in[row * cols + c];
    sum += __shfl_xor_sync(0xffffffff, sum, 4);
    sum += __shfl_xor_sync(0xffffffff, sum, 2);
    sum += __shfl_xor_sync(0xffffffff, sum, 1);
    if (is_there && lane == 0) out[row] = sum;
}

extern "C" __global__ void row_sums_i32(const unsigned int* in, unsigned int* out, unsigned int rows, unsigned int cols) {
    row_sums(in, out, rows, cols);
}
extern "C" __global__ void row_sums_f32(const float* in, float* out, unsigned int rows, unsigned int cols) {
    row_sums(in, out, rows, cols);
}
