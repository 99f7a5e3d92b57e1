// A warp barrier is met at any __syncwarp() with the same mask, on whichever side of a branch it stands.
extern "C" __global__ void two_sides_meet(int* out) {
    __shared__ int s[32];
    int lane = threadIdx.x;
    s[lane] = lane;
    if (lane < 16) { out[32 + lane] = lane; __syncwarp(); } else { out[32 + lane] = 2 * lane; __syncwarp(); }
    out[lane] = s[31 - lane];
}
