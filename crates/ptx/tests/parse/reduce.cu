// Block reductions over three element types: extern shared memory, shuffles with a predicate, one atomic a block.
template <typename T>
__device__ __forceinline__ T warp_sum(T value) {
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffu, value, offset);
    return value;
}

template <typename T>
__device__ void reduce(const T* in, T* out, unsigned n) {
    extern __shared__ __align__(16) unsigned char storage[];
    T* sums = reinterpret_cast<T*>(storage);
    T sum = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s >= warpSize; s /= 2) {
        if (threadIdx.x < s) sums[threadIdx.x] += sums[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x < warpSize) {
        sum = warp_sum(sums[threadIdx.x]);
        if (threadIdx.x == 0) atomicAdd(out, sum);
    }
}

extern "C" __global__ void reduce_i32(const int* in, int* out, unsigned n) { reduce(in, out, n); }
extern "C" __global__ void reduce_f32(const float* in, float* out, unsigned n) { reduce(in, out, n); }
extern "C" __global__ void reduce_f64(const double* in, double* out, unsigned n) { reduce(in, out, n); }
