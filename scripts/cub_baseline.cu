// NVIDIA's CUB as a library that `cargo course measure` loads: sums of three types on a stream of the caller.
// scripts/cub_library.sh builds it, with the toolkit's own headers or others, and with launches that may overlap.
//
// The CUDA runtime is linked in statically; it works in the context that is current, which is the caller's.

#include <climits>
#include <cstddef>
#include <cstdio>

#include <cub/device/device_reduce.cuh>
#include <cub/version.cuh>
#include <cuda_runtime.h>

#if CUB_VERSION >= 300400 // from here on sums take an environment
#define HAS_UNORDERED
#include <cuda/execution.determinism.h>
#include <cuda/execution.require.h>
#include <cuda/memory_resource>
#include <cuda/stream_ref>
#endif

// With temp == nullptr, writes the bytes of temporary storage that a sum of n elements needs and runs nothing; else sums
// in[0..n) into *out on the stream, without waiting. Returns a cudaError_t. Sizes that an int holds are given as an int,
// for which CUB counts in 32 bits.
template<typename T>
static int sum(void* temp, size_t* temp_bytes, const void* in, void* out, long long n, void* stream)
{
    const T* from = static_cast<const T*>(in);
    T* to = static_cast<T*>(out);
    cudaStream_t on = static_cast<cudaStream_t>(stream);
    return static_cast<int>(n <= INT_MAX
        ? cub::DeviceReduce::Sum(temp, *temp_bytes, from, to, static_cast<int>(n), on)
        : cub::DeviceReduce::Sum(temp, *temp_bytes, from, to, n, on));
}

// As a program does that sums once: asks for the size of the storage, allocates it, sums, gives it back, which waits.
// Of the caller it needs no storage.
template<typename T>
static int whole(void* temp, size_t* temp_bytes, const void* in, void* out, long long n, void* stream)
{
    if (temp == nullptr) {
        *temp_bytes = 0;
        return cudaSuccess;
    }
    size_t bytes = 0;
    int status = sum<T>(nullptr, &bytes, in, out, n, stream);
    void* own = nullptr;
    if (status == cudaSuccess) status = cudaMalloc(&own, bytes > 0 ? bytes : 1);
    if (status == cudaSuccess) status = sum<T>(own, &bytes, in, out, n, stream);
    int freed = own == nullptr ? cudaSuccess : cudaFree(own);
    return status == cudaSuccess ? freed : status;
}

#define ORDERED(TYPE, T) \
    extern "C" int cub_baseline_sum_##TYPE(void* temp, size_t* temp_bytes, const void* in, void* out, long long n, \
                                           void* stream) \
    { \
        return sum<T>(temp, temp_bytes, in, out, n, stream); \
    } \
    extern "C" int cub_baseline_whole_##TYPE(void* temp, size_t* temp_bytes, const void* in, void* out, long long n, \
                                             void* stream) \
    { \
        return whole<T>(temp, temp_bytes, in, out, n, stream); \
    }
ORDERED(i32, int)
ORDERED(f32, float)
ORDERED(f64, double)

#ifdef HAS_UNORDERED
// Lends CUB the caller's memory, so that nothing is allocated in a graph.
struct Lent {
    void* memory;
    size_t bytes;

    void* allocate(cuda::stream_ref, size_t wanted, size_t = 0) const
    {
        if (wanted > bytes) throw std::bad_alloc();
        return memory;
    }
    void deallocate(cuda::stream_ref, void*, size_t, size_t = 0) const noexcept {}
    void* allocate_sync(size_t wanted, size_t = 0) const { return allocate(cuda::stream_ref{cudaStream_t{}}, wanted); }
    void deallocate_sync(void*, size_t, size_t = 0) const noexcept {}
    bool operator==(const Lent& other) const { return memory == other.memory; }
    bool operator!=(const Lent& other) const { return memory != other.memory; }
    friend constexpr void get_property(const Lent&, cuda::mr::device_accessible) noexcept {}
};

// As above, with what a caller asks of the order.
template<typename T, typename Mode>
static int sum_as(Mode mode, void* temp, size_t* temp_bytes, const void* in, void* out, long long n, void* stream)
{
    constexpr size_t ENOUGH = 1 << 20;
    if (temp == nullptr) {
        *temp_bytes = ENOUGH;
        return cudaSuccess;
    }
    try {
        auto lent = cuda::std::execution::prop{cuda::mr::get_memory_resource, Lent{temp, *temp_bytes}};
        auto on = cuda::stream_ref{static_cast<cudaStream_t>(stream)};
        auto env = cuda::std::execution::env{on, lent, cuda::execution::require(mode)};
        const T* from = static_cast<const T*>(in);
        T* to = static_cast<T*>(out);
        return static_cast<int>(n <= INT_MAX ? cub::DeviceReduce::Sum(from, to, static_cast<int>(n), env)
                                             : cub::DeviceReduce::Sum(from, to, n, env));
    } catch (...) {
        return cudaErrorMemoryAllocation;
    }
}

#define SUM_AS(NAME, MODE, TYPE, T) \
    extern "C" int cub_baseline_##NAME##_##TYPE(void* temp, size_t* temp_bytes, const void* in, void* out, long long n, \
                                                void* stream) \
    { \
        return sum_as<T>(cuda::execution::determinism::MODE, temp, temp_bytes, in, out, n, stream); \
    }
// In whatever order is fastest: blocks add to the result by atomics, and what that gives for floats may differ from run to run.
SUM_AS(unordered, not_guaranteed, i32, int)
SUM_AS(unordered, not_guaranteed, f32, float)
SUM_AS(unordered, not_guaranteed, f64, double)
// The same bits on every card.
SUM_AS(reproducible, gpu_to_gpu, f32, float)
SUM_AS(reproducible, gpu_to_gpu, f64, double)
#endif

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
