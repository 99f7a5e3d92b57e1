// A mistake: lane 0 takes the values of the other 31 lanes one after the other.

constexpr unsigned int WARP = 32;
constexpr unsigned int ALL = 0xffffffff;
constexpr unsigned int MAX_WARPS = 32; // of 1,024 threads

template <typename T> __device__ T nothing();
template <> __device__ int nothing<int>() { return -0x7fffffff - 1; }
template <> __device__ float nothing<float>() { return __int_as_float(0xff800000); }

template <unsigned int B, typename T>
__device__ void any_warps(const T* in, T* out, unsigned int n) {
    constexpr unsigned int WARPS = B / WARP;
    __shared__ T of_warps[MAX_WARPS]; // one a warp
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (B * 2) + tid;
    T value = i < n ? in[i] : nothing<T>();
    if (i + B < n) {
        value = max(value, in[i + B]);
    }
    T own = value;
    for (unsigned int other = 1; other < WARP; other++) {
        value = max(value, __shfl_down_sync(ALL, own, other));
    }
    if (tid % WARP == 0) {
        of_warps[tid / WARP] = value;
    }
    __syncthreads();
    if (tid < WARP) {
        value = tid < WARPS ? of_warps[tid] : nothing<T>();
        for (unsigned int offset = WARP / 2; offset > 0; offset /= 2) value = max(value, __shfl_down_sync(ALL, value, offset));
        if (tid == 0) out[blockIdx.x] = value;
    }
}

extern "C" __global__ void any_warps_b32_i32(const int* in, int* out, unsigned int n) {
    any_warps<32>(in, out, n);
}
extern "C" __global__ void any_warps_b32_f32(const float* in, float* out, unsigned int n) {
    any_warps<32>(in, out, n);
}
extern "C" __global__ void any_warps_b96_i32(const int* in, int* out, unsigned int n) {
    any_warps<96>(in, out, n);
}
extern "C" __global__ void any_warps_b96_f32(const float* in, float* out, unsigned int n) {
    any_warps<96>(in, out, n);
}
extern "C" __global__ void any_warps_b160_i32(const int* in, int* out, unsigned int n) {
    any_warps<160>(in, out, n);
}
extern "C" __global__ void any_warps_b160_f32(const float* in, float* out, unsigned int n) {
    any_warps<160>(in, out, n);
}
extern "C" __global__ void any_warps_b256_i32(const int* in, int* out, unsigned int n) {
    any_warps<256>(in, out, n);
}
extern "C" __global__ void any_warps_b256_f32(const float* in, float* out, unsigned int n) {
    any_warps<256>(in, out, n);
}
extern "C" __global__ void any_warps_b1024_i32(const int* in, int* out, unsigned int n) {
    any_warps<1024>(in, out, n);
}
extern "C" __global__ void any_warps_b1024_f32(const float* in, float* out, unsigned int n) {
    any_warps<1024>(in, out, n);
}
