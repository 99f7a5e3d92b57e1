// NVIDIA's CUB as a library that `cargo course measure --baseline` loads: sums of three types on a stream of the caller.
//
// Build, on the machine with the card:
//   nvcc -O3 -std=c++17 -arch=native -Xcompiler -fPIC -shared -o libcub_baseline.so scripts/cub_baseline.cu
// With other headers than the toolkit's own, put theirs first: -I CCCL/cub -I CCCL/thrust -I CCCL/libcudacxx/include.
//
// The CUDA runtime is linked in statically; it works in the context that is current, which is the caller's.

#include <cstddef>
#include <cstdio>

#include <cub/device/device_reduce.cuh>
#include <cub/version.cuh>
#include <cuda_runtime.h>

// With temp == nullptr, writes the bytes of temporary storage that a sum of n elements needs and runs nothing; else sums
// in[0..n) into *out on the stream, without waiting. Returns a cudaError_t.
template<typename T>
static int sum(void* temp, size_t* temp_bytes, const void* in, void* out, int n, void* stream)
{
    return static_cast<int>(cub::DeviceReduce::Sum(
        temp, *temp_bytes, static_cast<const T*>(in), static_cast<T*>(out), n, static_cast<cudaStream_t>(stream)));
}

extern "C" int cub_baseline_sum_i32(void* temp, size_t* temp_bytes, const void* in, void* out, int n, void* stream)
{
    return sum<int>(temp, temp_bytes, in, out, n, stream);
}

extern "C" int cub_baseline_sum_f32(void* temp, size_t* temp_bytes, const void* in, void* out, int n, void* stream)
{
    return sum<float>(temp, temp_bytes, in, out, n, stream);
}

extern "C" int cub_baseline_sum_f64(void* temp, size_t* temp_bytes, const void* in, void* out, int n, void* stream)
{
    return sum<double>(temp, temp_bytes, in, out, n, stream);
}

// "3.0.1"; valid until the next call.
extern "C" const char* cub_baseline_version()
{
    static char text[32];
    std::snprintf(text, sizeof text, "%d.%d.%d", CUB_MAJOR_VERSION, CUB_MINOR_VERSION, CUB_SUBMINOR_VERSION);
    return text;
}

// What a status means.
extern "C" const char* cub_baseline_error(int status)
{
    return cudaGetErrorString(static_cast<cudaError_t>(status));
}
