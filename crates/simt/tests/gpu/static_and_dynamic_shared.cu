// Shared arrays of both kinds in one kernel, one of them used by a function only.
// simt: --kernel static_and_dynamic_shared --grid 2 --block 64 --shared 768 --arg in=u32[128]:hash8 --arg out=u32[128]:zero --print out
extern __shared__ unsigned dynamic[];
__device__ __noinline__ unsigned rotate(unsigned value, unsigned by) {
    __shared__ unsigned ring[64];
    ring[threadIdx.x] = value;
    __syncthreads();
    unsigned result = ring[(threadIdx.x + by) % 64];
    __syncthreads();
    return result;
}

extern "C" __global__ void static_and_dynamic_shared(const unsigned* in, unsigned* out) {
    __shared__ unsigned char low[64];
    unsigned t = threadIdx.x, i = blockIdx.x * 64 + t;
    double* doubles = (double*)(dynamic + 64);
    low[t] = (unsigned char)(in[i] * 3);
    dynamic[t] = in[i] + t;
    doubles[t] = t * 0.5;
    __syncthreads();
    unsigned value = rotate(dynamic[63 - t], 5) + low[(t * 7) % 64];
    out[i] = rotate(value, 9) + (unsigned)(doubles[t ^ 3] * 4);
}
