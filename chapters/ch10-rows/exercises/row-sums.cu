// Exercise: the sum of each row of a matrix, with eight lanes for each row.
//
// Element c of row r is in[r * cols + c]. A block has 256 threads and takes 32 rows. The last block may have
// fewer.

// ANCHOR: starter
template <typename T>
__device__ void row_sums(const T* in, T* out, unsigned int rows,
                         unsigned int cols) {
    // TODO: the row of eight neighbouring threads, and the lane of this one.
    unsigned int row = blockIdx.x * blockDim.x + threadIdx.x;
    T sum = 0;
    // TODO: this lane's columns of the row.
    // TODO: combine the values of the eight lanes.
    if (row < rows) out[row] = sum;
}
// ANCHOR_END: starter

extern "C" __global__ void row_sums_i32(const unsigned int* in, unsigned int* out, unsigned int rows, unsigned int cols) {
    row_sums(in, out, rows, cols);
}
extern "C" __global__ void row_sums_f32(const float* in, float* out, unsigned int rows, unsigned int cols) {
    row_sums(in, out, rows, cols);
}
