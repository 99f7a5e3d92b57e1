// Needleman-Wunsch (Rodinia): 16x16 tile in shared memory swept in anti-diagonals; one block does the tiles of one diagonal by one launch... here one block does all
// simt: --kernel needleman --grid 1 --block 16 --arg a=u8[64]:rand(109) --arg b=u8[64]:rand(110) --arg m=i32[4225]:zero --print m
extern "C" __global__ void needleman(const unsigned char *a, const unsigned char *b, int *m)
{
    const int W = 65, P = -3;
    __shared__ int t[17][17], ref[16][16];
    int x = threadIdx.x;
    for (int i = x; i < W; i += 16) { m[i] = i * P; m[i * W] = i * P; }
    __syncthreads();
    for (int d = 0; d < 7; d++) for (int by = max(0, d - 3); by <= min(3, d); by++) {
        int bx = d - by, base = by * 16 * W + bx * 16;
        for (int y = 0; y < 16; y++) ref[y][x] = (a[by * 16 + y] & 3) == (b[bx * 16 + x] & 3) ? 5 : -2;
        if (x == 0) t[0][0] = m[base];
        t[0][x + 1] = m[base + x + 1]; t[x + 1][0] = m[base + (x + 1) * W];
        __syncthreads();
        for (int k = 0; k < 31; k++) {
            int i = x + 1, j = k - x + 1;
            if (j >= 1 && j <= 16) t[j][i] = max(t[j - 1][i - 1] + ref[j - 1][i - 1], max(t[j][i - 1], t[j - 1][i]) + P);
            __syncthreads();
        }
        for (int y = 0; y < 16; y++) m[base + (y + 1) * W + x + 1] = t[y + 1][x + 1];
        __syncthreads();
    }
}
