// Exercise: the sum of each row of a matrix, by eight lanes a row.
//
// Element c of row r is in[r * cols + c]. A block has 256 threads, and there is a block for every 32 rows, the last of
// which may not all be there.

// ANCHOR: starter
template <typename T>
__device__ void row_sums(const T* in, T* out, unsigned int rows, unsigned int cols) {
    // TODO: which row do eight neighbouring threads have, and which of the eight is this one?
    unsigned int row = blockIdx.x * blockDim.x + threadIdx.x;
    T sum = 0;
    // TODO: this lane's columns of the row.
    // TODO: what the eight lanes hold becomes one value.
    if (row < rows) out[row] = sum;
}
// ANCHOR_END: starter

extern "C" __global__ void row_sums_i32(const unsigned int* in, unsigned int* out, unsigned int rows, unsigned int cols) {
    row_sums(in, out, rows, cols);
}
extern "C" __global__ void row_sums_f32(const float* in, float* out, unsigned int rows, unsigned int cols) {
    row_sums(in, out, rows, cols);
}
