// Wrong: the value is right, and thread 0 finds it alone.
constexpr unsigned int WARP = 32;
constexpr unsigned int ALL = 0xffffffff;
constexpr unsigned int MAX_WARPS = 32; // of 1,024 threads

// The value of a thread that has no element.
template <typename T> __device__ T nothing();
template <> __device__ int nothing<int>() { return -0x7fffffff - 1; }
template <> __device__ float nothing<float>() { return __int_as_float(0xff800000); }

template <unsigned int B, typename T>
__device__ void any_warps(const T* in, T* out, unsigned int n) {
    if (threadIdx.x == 0) {
        T value = nothing<T>();
        for (unsigned int i = 2 * B * blockIdx.x; i < 2 * B * (blockIdx.x + 1) && i < n; i++) {
            value = max(value, in[i]);
        }
        out[blockIdx.x] = value;
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
