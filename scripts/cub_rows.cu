// NVIDIA's CUB as a library for `cargo course measure --parts rows`: sums and largest elements of many segments, and their places. Built
// as scripts/cub_baseline.cu is, and linked with it. By offsets, and in newer versions of one length each too. Both as a user would call
// them: DeviceSegmentedReduce::Reduce with CUB's own operators and the accumulator that the chapter has, and ArgMax.

#include <cmath>
#include <cstddef>

#include <cub/device/device_segmented_reduce.cuh>
#include <cub/version.cuh>
#include <cuda/functional>
#include <cuda/std/functional>
#include <cuda/std/utility>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

using bf16 = __nv_bfloat16;
using f32 = float;

template<typename V> using Plus = cuda::std::plus<V>;
template<typename V> using Larger = cuda::maximum<V>;

// With temp == nullptr, writes the bytes of temporary storage that are needed and runs nothing; else reduces segment s, the
// elements from offsets[s] up to offsets[s + 1], to out[s]. Returns a cudaError_t. A length is not looked at.
#define OFFSETS(NAME, T, V, COMBINE, INIT) \
    extern "C" int cub_segments_offsets_##NAME(void* temp, size_t* bytes, const void* in, void* out, const void* offsets, \
                                               long long segments, long long, void* stream) \
    { \
        auto begin = static_cast<const int*>(offsets); \
        return static_cast<int>(cub::DeviceSegmentedReduce::Reduce(temp, *bytes, static_cast<const T*>(in), \
            static_cast<V*>(out), segments, begin, begin + 1, COMBINE<V>(), V(INIT), static_cast<cudaStream_t>(stream))); \
    }
#define OFFSETS_ARGMAX(T) \
    extern "C" int cub_segments_offsets_argmax_##T(void* temp, size_t* bytes, const void* in, void* out, const void* offsets, \
                                                   long long segments, long long, void* stream) \
    { \
        auto begin = static_cast<const int*>(offsets); \
        return static_cast<int>(cub::DeviceSegmentedReduce::ArgMax(temp, *bytes, static_cast<const T*>(in), \
            static_cast<cub::KeyValuePair<int, T>*>(out), segments, begin, begin + 1, static_cast<cudaStream_t>(stream))); \
    }

// As above, of segments that all have this length and lie one behind the other. There are no offsets.
#define FIXED(NAME, T, V, COMBINE, INIT) \
    extern "C" int cub_segments_fixed_##NAME(void* temp, size_t* bytes, const void* in, void* out, const void*, \
                                             long long segments, long long length, void* stream) \
    { \
        return static_cast<int>(cub::DeviceSegmentedReduce::Reduce(temp, *bytes, static_cast<const T*>(in), \
            static_cast<V*>(out), segments, static_cast<int>(length), COMBINE<V>(), V(INIT), static_cast<cudaStream_t>(stream))); \
    }
#define FIXED_ARGMAX(T) \
    extern "C" int cub_segments_fixed_argmax_##T(void* temp, size_t* bytes, const void* in, void* out, const void*, \
                                                 long long segments, long long length, void* stream) \
    { \
        return static_cast<int>(cub::DeviceSegmentedReduce::ArgMax(temp, *bytes, static_cast<const T*>(in), \
            static_cast<cuda::std::pair<int, T>*>(out), segments, static_cast<int>(length), static_cast<cudaStream_t>(stream))); \
    }

#if CUB_VERSION < 300100 // before this version there is no such form
#undef FIXED
#define FIXED(NAME, T, V, COMBINE, INIT)
#endif
#if CUB_VERSION < 300200 // nor before this one
#undef FIXED_ARGMAX
#define FIXED_ARGMAX(T)
#endif

#define BOTH(NAME, T, V, COMBINE, INIT) OFFSETS(NAME, T, V, COMBINE, INIT) FIXED(NAME, T, V, COMBINE, INIT)
BOTH(sum_f32, f32, f32, Plus, 0.0f)
BOTH(sum_bf16, bf16, f32, Plus, 0.0f)
BOTH(max_f32, f32, f32, Larger, -INFINITY)
BOTH(max_bf16, bf16, f32, Larger, -INFINITY)
// Results and accumulators of the elements' own type, which loses nothing.
BOTH(own_max_bf16, bf16, bf16, Larger, -INFINITY)
OFFSETS_ARGMAX(f32) OFFSETS_ARGMAX(bf16)
FIXED_ARGMAX(f32) FIXED_ARGMAX(bf16)
