// An assertion that does not hold for the last lane.
extern "C" __device__ void __assertfail(const char* condition, const char* file, unsigned line, const char* function, size_t charsize);

extern "C" __global__ void checked(const int* in, int* out) {
    if (in[threadIdx.x] > 30) __assertfail("in[threadIdx.x] <= 30", "assertion.cu", 5, "checked", 1); //~ ERROR[trap]
    out[threadIdx.x] = in[threadIdx.x];
}
