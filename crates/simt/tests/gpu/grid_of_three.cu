// Three dimensions of blocks and threads, partial warps, and a function of all of them.
// simt: --kernel grid_of_three --grid 2,3,2 --block 5,3,3 --arg out=u32[540]:zero --print out
__device__ __noinline__ unsigned place(uint3 t, uint3 b, dim3 block, dim3 grid) {
    unsigned thread = (t.z * block.y + t.y) * block.x + t.x;
    unsigned number = (b.z * grid.y + b.y) * grid.x + b.x;
    return number * block.x * block.y * block.z + thread;
}

extern "C" __global__ void grid_of_three(unsigned* out) {
    unsigned at = place(threadIdx, blockIdx, blockDim, gridDim);
    out[at] = at * 7 + threadIdx.x * 100 + threadIdx.y * 10 + threadIdx.z + blockIdx.z * 1000 + (blockIdx.y ^ blockIdx.x);
}
