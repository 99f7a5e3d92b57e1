// Another solution of any-block, with chapter 5's means: the last warp may be a part of one, its mask names the lanes that
// are there, and what comes from beyond them is left out.
constexpr unsigned int WARP = 32;

// The sum of the first `lanes` values of a warp, right in lane 0. Only those lanes take part.
template <typename T>
__device__ T warp_sum(T sum, unsigned int lane, unsigned int lanes) {
    unsigned int here = lanes == WARP ? 0xffffffff : (1u << lanes) - 1;
    for (unsigned int offset = WARP / 2; offset > 0; offset /= 2) {
        T other = __shfl_down_sync(here, sum, offset);
        if (lane + offset < lanes) sum += other;
    }
    return sum;
}

template <typename T>
__device__ void any_block(const T* in, T* out, unsigned int n) {
    __shared__ T of_warps[WARP];
    unsigned int tid = threadIdx.x, lane = tid % WARP, warp = tid / WARP;
    unsigned int i = blockIdx.x * blockDim.x + tid;

    T sum = warp_sum(i < n ? in[i] : T(0), lane, min(WARP, blockDim.x - warp * WARP));
    if (lane == 0) of_warps[warp] = sum;
    __syncthreads();

    unsigned int warps = (blockDim.x + WARP - 1) / WARP;
    if (tid < warps) {
        sum = warp_sum(of_warps[tid], lane, warps);
        if (tid == 0) out[blockIdx.x] = sum;
    }
}

extern "C" __global__ void any_block_i32(const unsigned int* in, unsigned int* out, unsigned int n) {
    any_block(in, out, n);
}
extern "C" __global__ void any_block_f32(const float* in, float* out, unsigned int n) {
    any_block(in, out, n);
}
