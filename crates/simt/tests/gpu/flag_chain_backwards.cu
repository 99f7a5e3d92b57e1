// The same against the order in which blocks start: block 0 waits for all that come after it. All must be resident.
// simt: --kernel flag_chain_backwards --grid 90 --block 64 --arg data=u32[91]:zero --arg flags=u32[91]:zero --print data
extern "C" __global__ void flag_chain_backwards(unsigned* data, unsigned* flags) {
    unsigned b = blockIdx.x;
    __shared__ unsigned before;
    if (threadIdx.x == 0) {
        before = 1;
        if (b + 1 < gridDim.x) {
            while (*(volatile unsigned*)(flags + b + 1) == 0) {}
            __threadfence();
            before = data[b + 1];
        }
    }
    __syncthreads();
    unsigned sum = __reduce_add_sync(0xffffffff, threadIdx.x % 32 * before);
    if (threadIdx.x == 0) {
        data[b] = sum % 1000003;
        __threadfence();
        *(volatile unsigned*)(flags + b) = 1;
    }
}
