// A running sum of each row of a table: shuffles in the warps, shared memory between them, doubles at the end of the row.
// simt: --kernel scan_rows --grid 5 --block 256 --arg in=i32[6500]:rand(3) --arg out=i64[6500]:zero --arg means=f64[5]:zero --arg width=i32:1300 --print out --print means
#include <cstdint>

struct Running {
    std::int64_t sum;
    int last;

    __device__ void add(std::int64_t block_sum, int length)
    {
        sum += block_sum;
        last = length;
    }
};

__device__ std::int64_t warp_scan(std::int64_t value, unsigned lane)
{
    for (int distance = 1; distance < 32; distance *= 2) {
        std::int64_t other = __shfl_up_sync(0xffffffffu, value, distance);
        if (lane >= distance) {
            value += other;
        }
    }
    return value;
}

extern "C" __global__ void scan_rows(const int *in, std::int64_t *out, double *means, int width)
{
    __shared__ std::int64_t warps[8];
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int *row = in + blockIdx.x * width;
    Running running = {0, 0};
    for (int first = 0; first < width; first += blockDim.x) {
        int at = first + threadIdx.x;
        std::int64_t value = warp_scan(at < width ? row[at] : 0, lane);
        if (lane == 31) {
            warps[warp] = value;
        }
        __syncthreads();
        std::int64_t before = running.sum, total = 0;
        for (int k = 0; k < 8; k++) {
            if (k < warp) {
                before += warps[k];
            }
            total += warps[k];
        }
        if (at < width) {
            out[blockIdx.x * width + at] = before + value;
        }
        running.add(total, min(width, first + (int)blockDim.x));
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        means[blockIdx.x] = static_cast<double>(running.sum) / running.last;
    }
}
