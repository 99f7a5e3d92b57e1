// A product of matrices from tiles in shared memory, in blocks of two dimensions; the result is stored transposed.
// simt: --kernel matrix_tiles --grid 3,3 --block 16,16 --arg a=f32[2304]:rand(1) --arg b=f32[2304]:rand(2) --arg out=f32[2304]:zero --print out
extern "C" __global__ void matrix_tiles(const float* a, const float* b, float* out) {
    __shared__ float left[16][16], right[16][17];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float sum = 0;
    for (int k = 0; k < 48; k += 16) {
        left[y][x] = a[row * 48 + k + x];
        right[y][x] = b[(k + y) * 48 + column];
        __syncthreads();
        for (int j = 0; j < 16; j++) sum = fmaf(left[y][j], right[j][x], sum);
        __syncthreads();
    }
    right[x][y] = sum;
    __syncthreads();
    out[(blockIdx.x * 16 + y) * 48 + blockIdx.y * 16 + x] = right[y][x];
}
