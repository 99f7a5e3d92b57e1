// Bytes, halves, words and vectors of one array in shared memory.
// simt: --kernel shared_widths --grid 2 --block 64 --arg out=u32[1024]:zero --print out
extern "C" __global__ void shared_widths(unsigned* out) {
    __shared__ __align__(16) unsigned char bytes[1024];
    unsigned t = threadIdx.x;
    for (unsigned i = t; i < 1024; i += 64) bytes[i] = i * 7 + blockIdx.x;
    __syncthreads();
    short h = ((short*)bytes)[t * 8 + 3];
    signed char c = ((signed char*)bytes)[1023 - t];
    uint2 two = ((uint2*)bytes)[t + 32];
    uint4 four = ((uint4*)bytes)[63 - t];
    long long wide = ((long long*)bytes)[2 * t + 1];
    __syncthreads();
    ((ushort4*)bytes)[t] = make_ushort4(h, c, two.x, four.w);
    ((double*)bytes)[64 + t] = wide * 0.5;
    __syncthreads();
    unsigned* mine = out + (blockIdx.x * 64 + t) * 8;
    mine[0] = h;
    mine[1] = c;
    mine[2] = two.x ^ two.y;
    mine[3] = four.x + four.y * 3 + four.z * 5 + four.w * 7;
    mine[4] = ((unsigned*)bytes)[2 * ((t + 1) % 64)];
    mine[5] = ((unsigned*)bytes)[2 * ((t + 2) % 64) + 1];
    mine[6] = ((unsigned*)bytes)[128 + (t * 5) % 128];
    mine[7] = bytes[(t * 37) % 1024];
}
