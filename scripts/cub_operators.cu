// NVIDIA's CUB as a library for `cargo course measure --parts operators`: reductions by every operator of chapter 9 that
// CUB has or takes. Built as scripts/cub_baseline.cu is, and linked with it. Each in the form that a user would pick: Reduce with the
// accumulator that the chapter has, TransformReduce where an element is something else on the way in, ArgMin and ArgMax.

#include <cstddef>

#include <cub/device/device_reduce.cuh>
#include <cuda/functional>
#include <cuda/std/functional>
#include <cuda/std/limits>
#include <cuda/std/tuple>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <thrust/iterator/transform_output_iterator.h>
#include <thrust/iterator/zip_iterator.h>

using i8 = signed char;
using u8 = unsigned char;
using i16 = short;
using i32 = int;
using u32 = unsigned int;
using i64 = long long;
using f16 = __half;
using bf16 = __nv_bfloat16;
using f32 = float;
using f64 = double;

template<typename T> struct Wide { using type = T; };
template<> struct Wide<i8> { using type = int; };
template<> struct Wide<u8> { using type = int; };
template<> struct Wide<i16> { using type = int; };
template<> struct Wide<f16> { using type = float; };
template<> struct Wide<bf16> { using type = float; };
template<typename T> using wide = typename Wide<T>::type;
template<typename T> struct Sum { using type = wide<T>; };
template<> struct Sum<i8> { using type = long long; };
template<> struct Sum<u8> { using type = long long; };
template<> struct Sum<i16> { using type = long long; };
template<> struct Sum<i32> { using type = unsigned int; };
template<> struct Sum<i64> { using type = unsigned long long; };
template<typename T> using sum_of = typename Sum<T>::type;

template<typename V, typename T> struct Widen { __host__ __device__ V operator()(T x) const { return static_cast<V>(static_cast<wide<T>>(x)); } };
template<typename V, typename T> struct Square { __host__ __device__ V operator()(T x) const { V y = static_cast<V>(static_cast<wide<T>>(x)); return y * y; } };
template<typename T> struct Above { __host__ __device__ unsigned operator()(T x) const { return static_cast<wide<T>>(x) > wide<T>(0); } };
template<typename V> struct Pair { V a, b; };
struct Both { template<typename V> __host__ __device__ Pair<V> operator()(Pair<V> x, Pair<V> y) const { return {x.a < y.a ? x.a : y.a, x.b > y.b ? x.b : y.b}; } };
template<typename V, typename T> struct Twice { __host__ __device__ Pair<V> operator()(T x) const { V y = static_cast<V>(x); return {y, y}; } };
template<typename V> struct Moments { V n, mean, m2; };
struct Merge {
    template<typename V> __host__ __device__ Moments<V> operator()(Moments<V> a, Moments<V> b) const {
        V n = a.n + b.n, share = n > 0 ? b.n / n : 0, d = b.mean - a.mean;
        return {n, a.mean + d * share, a.m2 + b.m2 + d * d * (a.n * share)};
    }
};
template<typename V, typename T> struct One { __host__ __device__ Moments<V> operator()(T x) const { return {V(1), static_cast<V>(x), V(0)}; } };

#define ENTRY(OP, T, BODY) \
    extern "C" int cub_baseline_##OP##_##T(void* temp, size_t* bytes, const void* input, void* out, long long length, void* on) { \
        auto in = static_cast<const T*>(input); \
        auto stream = static_cast<cudaStream_t>(on); \
        int n = static_cast<int>(length); \
        (void) in, (void) n; \
        return static_cast<int>(BODY); \
    }
#define TRANSFORMED(OP, T, V, COMBINE, INIT, FUNCTION) \
    ENTRY(OP, T, (cub::DeviceReduce::TransformReduce(temp, *bytes, in, static_cast<V*>(out), n, COMBINE, FUNCTION, INIT, stream)))
#define REDUCED(OP, T, V, COMBINE, INIT) \
    ENTRY(OP, T, (cub::DeviceReduce::Reduce(temp, *bytes, in, static_cast<V*>(out), n, COMBINE, INIT, stream)))

// PART picks some of them, so that several compilers can work at once.
#define SUM(T) TRANSFORMED(sum, T, sum_of<T>, cuda::std::plus<sum_of<T>>(), sum_of<T>(0), (Widen<sum_of<T>, T>()))
#define LIMITS(T) cuda::std::numeric_limits<wide<T>>
#define MAX(T) TRANSFORMED(max, T, wide<T>, cuda::maximum<wide<T>>(), LIMITS(T)::lowest(), (Widen<wide<T>, T>()))
#define MINMAX_OF(T) \
    MAX(T) TRANSFORMED(min, T, wide<T>, cuda::minimum<wide<T>>(), LIMITS(T)::max(), (Widen<wide<T>, T>()))
#define SQUARES(T) TRANSFORMED(sumsq, T, sum_of<T>, cuda::std::plus<sum_of<T>>(), sum_of<T>(0), (Square<sum_of<T>, T>()))
#define COUNT(T) TRANSFORMED(count, T, unsigned, cuda::std::plus<unsigned>(), 0u, Above<T>())
// A place is an index of 64 bits and the element behind it.
#define ARGMAX(T) \
    ENTRY(argmax, T, (cub::DeviceReduce::ArgMax(temp, *bytes, in, reinterpret_cast<T*>(static_cast<char*>(out) + 8), static_cast<long long*>(out), length, stream)))
#define ARG(T) \
    ARGMAX(T) ENTRY(argmin, T, (cub::DeviceReduce::ArgMin(temp, *bytes, in, reinterpret_cast<T*>(static_cast<char*>(out) + 8), static_cast<long long*>(out), length, stream)))
// The second input begins at the next multiple of 64 elements.
template<typename V> struct Multiply {
    template<typename P> __host__ __device__ V operator()(const P& p) const {
        return static_cast<V>(cuda::std::get<0>(p)) * static_cast<V>(cuda::std::get<1>(p));
    }
};
#define DOT(T) \
    ENTRY(dot, T, (cub::DeviceReduce::TransformReduce(temp, *bytes, thrust::make_zip_iterator(in, in + (length + 63) / 64 * 64), \
        static_cast<sum_of<T>*>(out), n, cuda::std::plus<sum_of<T>>(), Multiply<sum_of<T>>(), sum_of<T>(0), stream)))
#define BOTH(T) TRANSFORMED(minmax, T, Pair<wide<T>>, Both(), (Pair<wide<T>>{LIMITS(T)::max(), LIMITS(T)::lowest()}), (Twice<wide<T>, T>()))
#define PRODUCT(T) TRANSFORMED(prod, T, sum_of<T>, cuda::std::multiplies<sum_of<T>>(), sum_of<T>(1), (Widen<sum_of<T>, T>()))
#define BITS(T) \
    REDUCED(and, T, T, cuda::std::bit_and<T>(), ~T(0)) REDUCED(or, T, T, cuda::std::bit_or<T>(), T(0)) \
    REDUCED(xor, T, T, cuda::std::bit_xor<T>(), T(0))
// Mean and variance by the chapter's own merging, and its division on the way out.
template<typename V> struct Spread { V mean, variance; };
template<typename V> struct Finish {
    V n;
    __host__ __device__ Spread<V> operator()(Moments<V> all) const { return {all.mean, all.m2 / n}; }
};
#define MEANVAR(T) \
    ENTRY(meanvar, T, (cub::DeviceReduce::TransformReduce(temp, *bytes, in, \
        thrust::make_transform_output_iterator(static_cast<Spread<wide<T>>*>(out), Finish<wide<T>>{static_cast<wide<T>>(n)}), n, \
        Merge(), One<wide<T>, T>(), Moments<wide<T>>{0, 0, 0}, stream)))

// The largest element as the elements' own type, which loses nothing.
#define OWN_MAX(T) ENTRY(own_max, T, (cub::DeviceReduce::Max(temp, *bytes, in, static_cast<T*>(out), n, stream)))

#if defined(LIBRARY) // what the library is timed beside
SUM(bf16) MAX(bf16) OWN_MAX(bf16) MAX(f32) MAX(f64) MAX(i32) ARGMAX(bf16) ARGMAX(f32) ARGMAX(f64) ARGMAX(i32)
#elif PART == 0
SUM(i8) SUM(u8) SUM(i16) SUM(u32) SUM(i64) SUM(f16) SUM(bf16)
#elif PART == 1
MINMAX_OF(i8) MINMAX_OF(u8) MINMAX_OF(i16)
#elif PART == 2
MINMAX_OF(i32) MINMAX_OF(u32) MINMAX_OF(i64)
#elif PART == 3
MINMAX_OF(f16) MINMAX_OF(bf16)
#elif PART == 4
MINMAX_OF(f32) MINMAX_OF(f64)
#elif PART == 5
SQUARES(i8) SQUARES(f16) SQUARES(bf16) SQUARES(f32) SQUARES(f64)
#elif PART == 6
COUNT(i8) COUNT(i32) COUNT(bf16) COUNT(f32)
#elif PART == 7
ARG(i32) ARG(i64) ARG(f32)
#elif PART == 8
ARG(f64)
#elif PART == 9
DOT(i8) DOT(f16) DOT(bf16) DOT(f32) DOT(f64)
#elif PART == 10
BOTH(i32) BOTH(bf16) BOTH(f32) BOTH(f64)
#elif PART == 11
PRODUCT(i32) PRODUCT(i64) PRODUCT(f32) PRODUCT(f64)
#elif PART == 12
BITS(u32) BITS(i64)
#elif PART == 13
MEANVAR(f16) MEANVAR(bf16) MEANVAR(f32) MEANVAR(f64)
#endif
