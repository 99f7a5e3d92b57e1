// Two warps produce, two consume: whoever is ahead only comes by at a barrier, whoever needs the other waits there.
// simt: --kernel named_barriers --grid 2 --block 128 --arg out=u32[128]:zero --print out
__device__ void wait(unsigned id) { asm volatile("bar.sync %0, 128;" ::"r"(id) : "memory"); }
__device__ void come_by(unsigned id) { asm volatile("bar.arrive %0, 128;" ::"r"(id) : "memory"); }

extern "C" __global__ void named_barriers(unsigned* out) {
    __shared__ unsigned box[2][64];
    unsigned t = threadIdx.x % 64;
    const unsigned rounds = 6;
    if (threadIdx.x < 64) {
        for (unsigned round = 0; round < rounds; round++) {
            unsigned side = round % 2;
            wait(1 + side);  // it is empty
            box[side][t] = round * 1000 + t * t + blockIdx.x;
            come_by(3 + side);  // it is full
        }
    } else {
        come_by(1);
        come_by(2);
        unsigned sum = 0;
        for (unsigned round = 0; round < rounds; round++) {
            unsigned side = round % 2;
            wait(3 + side);
            sum = sum * 3 + box[side][63 - t];
            if (round + 2 < rounds) come_by(1 + side);
        }
        out[blockIdx.x * 64 + t] = sum;
    }
}
