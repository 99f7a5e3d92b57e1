// A sum over the results of ex2.approx.ftz.f32 for each sign and exponent of its source, over all 2^23 fractions: what the simulator's
// unit is held against.
//
//   nvcc -O3 -arch=sm_90 -o approximations approximations.cu && ./approximations > ex2-sums.h200.json
//
// The record lies in crates/simt/tests/semantics, with the date and the driver beside its CUDA.

#include <cstdio>

using Sum = unsigned long long;
constexpr unsigned int FRACTIONS = 1 << 23, UPPER = 512;

// Block b has the sources whose upper nine bits are b. Each result counts as often as its place says, so that no two may change places.
__global__ void sums(Sum* out) {
    Sum sum = 0;
    for (unsigned int fraction = threadIdx.x; fraction < FRACTIONS; fraction += blockDim.x) {
        float source = __uint_as_float(blockIdx.x << 23 | fraction), result;
        asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(source));
        sum += Sum(__float_as_uint(result)) * (fraction + 1);
    }
    atomicAdd(&out[blockIdx.x], sum);
}

int main() {
    Sum *device, host[UPPER];
    cudaMalloc(&device, sizeof(host));
    cudaMemset(device, 0, sizeof(host));
    sums<<<UPPER, 1024>>>(device);
    cudaMemcpy(host, device, sizeof(host), cudaMemcpyDeviceToHost);
    cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) {
        fprintf(stderr, "%s\n", cudaGetErrorString(error));
        return 1;
    }
    cudaDeviceProp card;
    int driver;
    cudaGetDeviceProperties(&card, 0);
    cudaDriverGetVersion(&driver);
    printf("{\"device\": \"%s\", \"cuda\": \"%d.%d\", \"opcode\": \"ex2.approx.ftz.f32\", \"sums\": [", card.name, driver / 1000, driver % 1000 / 10);
    for (unsigned int upper = 0; upper < UPPER; upper++) printf("%s\n\"%016llx\"", upper ? "," : "", host[upper]);
    printf("\n]}\n");
}
