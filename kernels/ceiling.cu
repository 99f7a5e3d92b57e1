// What any reduction is measured against: a launch that does nothing, and a kernel that
// reads and does next to nothing else.
//
// Idea.   A sum has to be launched, and every number of it read. Both are measured with the same clock as the kernels of the course.
// Limit.  Reading is all it does: what it adds up is wrong as a sum, since it is never
//         brought together.
// Worked. 132 multiprocessors with 2,048 threads and four loads of 16 bytes each have
//         16.5 MiB in flight.

extern "C" __global__ void nothing() {}

// ANCHOR: read
// 16-byte loads, several of a thread in flight at once, summed in registers. The result
// is stored only if it is a value that it will hardly have, so that nothing is written and
// the compiler must still load everything. Ordinary loads and not streaming ones, whose
// lines the L2 gives up first: the same kernel empties the L2 before a measurement, and
// must take the place of everything that is in it.
template <unsigned int AT_ONCE>
__device__ void read_all(const uint4* in, unsigned int* out, unsigned int vectors) {
    unsigned int sum = 0, stride = gridDim.x * blockDim.x;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + (AT_ONCE - 1) * stride < vectors; i += AT_ONCE * stride) {
        uint4 v[AT_ONCE];
        for (unsigned int k = 0; k < AT_ONCE; k++) v[k] = __ldg(in + i + k * stride);
        for (unsigned int k = 0; k < AT_ONCE; k++) sum += v[k].x + v[k].y + v[k].z + v[k].w;
    }
    for (; i < vectors; i += stride) {
        uint4 v = __ldg(in + i);
        sum += v.x + v.y + v.z + v.w;
    }
    if (sum == 0x9e3779b9) *out = sum;
}
// ANCHOR_END: read

extern "C" __global__ void read_all_4(const uint4* in, unsigned int* out, unsigned int vectors) {
    read_all<4>(in, out, vectors);
}

extern "C" __global__ void read_all_8(const uint4* in, unsigned int* out, unsigned int vectors) {
    read_all<8>(in, out, vectors);
}
