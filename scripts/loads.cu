// Times kernels of chapters 11 and 12 in which the instruction that loads a vector is another one; scripts/gpu_loads.sh compiles it,
// once for each kind of load. A graph of calls with arrays of their own, cold, the median of seven replays. Results are not judged:
// what is asked is what a load costs, and the kernels are otherwise those that are judged elsewhere.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include KERNELS

#if CHAPTER == 11
#define ONE(OP, T, NAME, TYPE, THREADS, V) BLOCK(OP<T>, NAME, TYPE, THREADS, V)
#else
#define ONE(OP, T, NAME, TYPE, THREADS, V) BLOCK(OP, T, NAME, TYPE, THREADS, V)
#endif
#define EACH_SHAPE(F, OP, NAME, ARRAYS) \
    F(OP, float, NAME, f32, ARRAYS, 65536, 1024, 128, 2) F(OP, float, NAME, f32, ARRAYS, 16384, 4096, 256, 4) \
    F(OP, float, NAME, f32, ARRAYS, 4096, 16384, 512, 8) F(OP, bf16, NAME, bf16, ARRAYS, 65536, 1024, 128, 1) \
    F(OP, bf16, NAME, bf16, ARRAYS, 16384, 4096, 256, 2) F(OP, bf16, NAME, bf16, ARRAYS, 4096, 16384, 512, 4)
#if CHAPTER == 11
#define EACH_CASE(F) EACH_SHAPE(F, Softmax, softmax, 1) EACH_SHAPE(F, SoftmaxBackward, softmax_backward, 2)
#else
#define EACH_CASE(F) EACH_SHAPE(F, LayerNorm, layer_norm, 1) EACH_SHAPE(F, RmsNorm, rms_norm, 1)
#endif
#define MAKE(OP, T, NAME, TYPE, ARRAYS, ROWS, COLS, THREADS, V) ONE(OP, T, NAME, TYPE, THREADS, V)
EACH_CASE(MAKE)

struct Case {
    const char *op, *type, *kernel;
    const void* function;
    size_t arrays, element, rows, cols;
    unsigned int threads;
};
#define TELL(OP, T, NAME, TYPE, ARRAYS, ROWS, COLS, THREADS, V) \
    {#NAME, #TYPE, "t" #THREADS "v" #V, (const void*)block_##NAME##_t##THREADS##v##V##_##TYPE, ARRAYS, sizeof(T), ROWS, COLS, THREADS},
static const Case CASES[] = {EACH_CASE(TELL)};

#define TRY(CALL) \
    if (cudaError_t error = (CALL)) { \
        fprintf(stderr, "loads.cu: %s: %s\n", #CALL, cudaGetErrorString(error)); \
        exit(1); \
    }
constexpr size_t POOL_BYTES = size_t(6) << 30, FLUSH_BYTES = size_t(256) << 20, WEIGHTS_BYTES = size_t(64) << 20, CALLS = 3;
constexpr int REPLAYS = 7;

// Numbers between -8 and 8, as floats or as their upper halves.
__global__ void fill(unsigned int* words, size_t count, bool halves) {
    auto number = [](unsigned int i) {
        unsigned int hash = i * 2654435761u;
        hash = (hash ^ hash >> 15) * 2246822519u;
        return __float_as_uint(((hash ^ hash >> 13) >> 8) / 1048576.0f - 8);
    };
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x) {
        words[i] = halves ? number(2 * i) >> 16 | (number(2 * i + 1) & 0xffff0000) : number(i);
    }
}
__global__ void flush(const uint4* from, size_t count, unsigned int* sink) {
    unsigned int all = 0;
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x) {
        all ^= from[i].x;
    }
    if (all == 0x12345678) *sink = all;
}

int main() {
    char *pool, *out, *weights;
    unsigned int* sink;
    TRY(cudaMalloc(&pool, POOL_BYTES));
    TRY(cudaMalloc(&out, POOL_BYTES / 2));
    TRY(cudaMalloc(&weights, WEIGHTS_BYTES));
    TRY(cudaMalloc(&sink, sizeof *sink));
    cudaStream_t stream;
    cudaEvent_t begin, end;
    TRY(cudaStreamCreate(&stream));
    TRY(cudaEventCreate(&begin));
    TRY(cudaEventCreate(&end));
    size_t filled = 0;
    for (const Case& c : CASES) {
        if (filled != c.element) {
            fill<<<4096, 256>>>(reinterpret_cast<unsigned int*>(pool), POOL_BYTES / 4, c.element == 2);
            fill<<<256, 256>>>(reinterpret_cast<unsigned int*>(weights), WEIGHTS_BYTES / 4, c.element == 2);
            TRY(cudaDeviceSynchronize());
            filled = c.element;
        }
        size_t bytes = c.rows * c.cols * c.element;
        cudaGraph_t graph;
        cudaGraphExec_t replay;
        TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        for (size_t i = 0; i < CALLS; i++) {
            char *in = pool + i * c.arrays * bytes, *other = c.arrays > 1 ? in + bytes : nullptr, *to = out + i * bytes;
            unsigned long long rows = c.rows, pitch = c.cols;
            unsigned int cols = c.cols;
#if CHAPTER == 11
            unsigned int none = 0;
            void* nowhere = nullptr;
            void* args[] = {&in, &other, &to, &rows, &cols, &pitch, &nowhere, &none, &nowhere, &none};
#else
            char* biases = weights + WEIGHTS_BYTES / 2;
            void* args[] = {&in, &other, &to, &rows, &cols, &pitch, &weights, &biases};
#endif
            TRY(cudaLaunchKernel(c.function, dim3(c.rows), dim3(c.threads), args, 0, stream));
        }
        TRY(cudaStreamEndCapture(stream, &graph));
        TRY(cudaGraphInstantiate(&replay, graph, 0));
        std::vector<float> times;
        for (int i = 0; i <= REPLAYS; i++) { // the first is not counted
            flush<<<1024, 256, 0, stream>>>(reinterpret_cast<uint4*>(pool + POOL_BYTES - FLUSH_BYTES), FLUSH_BYTES / 16, sink);
            TRY(cudaEventRecord(begin, stream));
            TRY(cudaGraphLaunch(replay, stream));
            TRY(cudaEventRecord(end, stream));
            TRY(cudaStreamSynchronize(stream));
            float ms;
            TRY(cudaEventElapsedTime(&ms, begin, end));
            if (i > 0) times.push_back(1000 * ms / CALLS);
        }
        std::sort(times.begin(), times.end());
        printf("%s %s %s %zu %zu %s %.2f\n", LOAD, c.op, c.type, c.rows, c.cols, c.kernel, times[times.size() / 2]);
        TRY(cudaGraphExecDestroy(replay));
        TRY(cudaGraphDestroy(graph));
    }
}
