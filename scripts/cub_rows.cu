// NVIDIA's CUB as a library for `cargo course measure --parts rows`: sums and largest elements of many segments. Built as
// scripts/cub_baseline.cu is, and linked with it. By offsets, and in newer versions of one length each too. Both as a user
// would call them: DeviceSegmentedReduce::Reduce with the accumulator that the chapter has.

#include <cstddef>

#include <cub/device/device_segmented_reduce.cuh>
#include <cub/version.cuh>
#include <cuda/std/limits>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

using bf16 = __nv_bfloat16;
using f32 = float;

struct Plus { __host__ __device__ float operator()(float a, float b) const { return a + b; } };
struct Larger { __host__ __device__ float operator()(float a, float b) const { return a > b ? a : b; } };

// With temp == nullptr, writes the bytes of temporary storage that are needed and runs nothing; else reduces segment s, the
// elements from offsets[s] up to offsets[s + 1], to out[s]. Returns a cudaError_t. A length is not looked at.
#define OFFSETS(OP, T, COMBINE, INIT) \
    extern "C" int cub_segments_offsets_##OP##_##T(void* temp, size_t* bytes, const void* in, void* out, const void* offsets, \
                                                   long long segments, long long, void* stream) \
    { \
        auto begin = static_cast<const int*>(offsets); \
        return static_cast<int>(cub::DeviceSegmentedReduce::Reduce(temp, *bytes, static_cast<const T*>(in), \
            static_cast<float*>(out), segments, begin, begin + 1, COMBINE(), INIT, static_cast<cudaStream_t>(stream))); \
    }

// As above, of segments that all have this length and lie one behind the other. There are no offsets.
#define FIXED(OP, T, COMBINE, INIT) \
    extern "C" int cub_segments_fixed_##OP##_##T(void* temp, size_t* bytes, const void* in, void* out, const void*, \
                                                 long long segments, long long length, void* stream) \
    { \
        return static_cast<int>(cub::DeviceSegmentedReduce::Reduce(temp, *bytes, static_cast<const T*>(in), \
            static_cast<float*>(out), segments, static_cast<int>(length), COMBINE(), INIT, static_cast<cudaStream_t>(stream))); \
    }

#if CUB_VERSION < 300100 // before this version there is no such form
#undef FIXED
#define FIXED(OP, T, COMBINE, INIT)
#endif

#define BOTH(T) \
    OFFSETS(sum, T, Plus, 0.0f) FIXED(sum, T, Plus, 0.0f) \
    OFFSETS(max, T, Larger, -cuda::std::numeric_limits<float>::infinity()) \
    FIXED(max, T, Larger, -cuda::std::numeric_limits<float>::infinity())
BOTH(f32)
BOTH(bf16)
