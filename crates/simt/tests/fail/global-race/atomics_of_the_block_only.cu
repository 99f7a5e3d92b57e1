// Blocks count in one word with atomics that only hold inside a block.
extern "C" __global__ void count(unsigned* n) {
    atomicAdd_block(n, 1); //~ ERROR[global-race]
}
