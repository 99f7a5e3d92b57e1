// A mistake: vectorised without a head. A cast to int4* promises an address that is a
// multiple of 16, and an array may begin at any element.

constexpr unsigned int MAX_BLOCK = 1024;

extern "C" __global__ void misaligned_packs_i32(const unsigned int* in, unsigned int* out, unsigned int n) {
    __shared__ unsigned int sums[MAX_BLOCK];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (blockDim.x * 2) + tid;
    unsigned int grid_size = blockDim.x * 2 * gridDim.x;
    unsigned int packs = n / 4;

    const int4* packed = reinterpret_cast<const int4*>(in);
    unsigned int sum = 0;
    while (i < packs) {
        int4 a = packed[i];
        sum += a.x + a.y + a.z + a.w;
        if (i + blockDim.x < packs) {
            int4 b = packed[i + blockDim.x];
            sum += b.x + b.y + b.z + b.w;
        }
        i += grid_size;
    }
    if (blockIdx.x == 0 && packs * 4 + tid < n) {
        sum += in[packs * 4 + tid];
    }
    sums[tid] = sum;
    __syncthreads();

    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) {
            sums[tid] += sums[tid + s];
        }
        __syncthreads();
    }
    if (tid == 0) {
        out[blockIdx.x] = sums[0];
    }
}
