// Every block leaves a part and takes a ticket; the one with the last ticket adds the parts up.
// simt: --kernel last_block_ticket --grid 150 --block 64 --arg in=u32[30000]:hash8 --arg parts=u32[150]:zero --arg ticket=u32[1]:zero --arg out=u32[2]:zero --arg n=u32:29999 --print out --print ticket
extern "C" __global__ void last_block_ticket(const unsigned* in, unsigned* parts, unsigned* ticket, unsigned* out, unsigned n) {
    __shared__ unsigned s[64];
    __shared__ bool last;
    unsigned t = threadIdx.x, sum = 0;
    for (unsigned i = blockIdx.x * 64 + t; i < n; i += gridDim.x * 64) sum += in[i];
    s[t] = sum;
    __syncthreads();
    for (unsigned stride = 32; stride > 0; stride /= 2) {
        if (t < stride) s[t] += s[t + stride];
        __syncthreads();
    }
    if (t == 0) {
        parts[blockIdx.x] = s[0];
        __threadfence();
        last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    sum = 0;
    for (unsigned i = t; i < gridDim.x; i += 64) sum += ((volatile unsigned*)parts)[i];
    atomicAdd(out, sum);
    if (t == 0) out[1] = gridDim.x;
}
