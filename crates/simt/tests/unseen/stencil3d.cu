// FDTD3d-like: radius-2 in z register queue, xy tile in shared memory; __constant__ initialised coefficients; 3-D data
// simt: --kernel stencil3d --grid 2,3 --block 16,8 --arg in=f32[15360]:rand(6) --arg out=f32[15360]:zero --print out
__constant__ float coef[3] = {0.5f, -0.125f, 0.0625f};
extern "C" __global__ void stencil3d(const float *in, float *out)
{
    const int NX = 32, NY = 24, NZ = 20, R = 2;
    __shared__ float t[8 + 2 * R][16 + 2 * R];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, tx = threadIdx.x + R, ty = threadIdx.y + R;
    auto at = [&](int x, int y, int z) { return (x < 0 || y < 0 || z < 0 || x >= NX || y >= NY || z >= NZ) ? 0.f : in[(z * NY + y) * NX + x]; };
    float behind[R], front[R], cur;
    for (int i = 0; i < R; i++) { behind[i] = 0; front[i] = at(x, y, i + 1); }
    cur = at(x, y, 0);
    for (int z = 0; z < NZ; z++) {
        if (threadIdx.y < R) { t[threadIdx.y][tx] = at(x, y - R, z); t[threadIdx.y + 8 + R][tx] = at(x, y + 8, z); }
        if (threadIdx.x < R) { t[ty][threadIdx.x] = at(x - R, y, z); t[ty][threadIdx.x + 16 + R] = at(x + 16, y, z); }
        t[ty][tx] = cur;
        __syncthreads();
        float v = coef[0] * cur;
        for (int i = 1; i <= R; i++) v += coef[i] * (front[i - 1] + behind[i - 1] + t[ty - i][tx] + t[ty + i][tx] + t[ty][tx - i] + t[ty][tx + i]);
        out[(z * NY + y) * NX + x] = v;
        __syncthreads();
        for (int i = R - 1; i > 0; i--) behind[i] = behind[i - 1];
        behind[0] = cur; cur = front[0];
        for (int i = 0; i < R - 1; i++) front[i] = front[i + 1];
        front[R - 1] = at(x, y, z + R + 1);
    }
}
