// What a kernel is measured against that writes as much as it reads, and how its results are judged where they are too many
// for the host.
//
// Idea.   Such a kernel has to read every byte and to write every byte. This one does nothing else.
// Limit.  Copying: what is read is not looked at.
// Worked. 65,536 rows of 1,024 floats are 256 MiB. To read and to write them is 512 MiB.

// ANCHOR: copy
// Each thread has AT_ONCE loads of 16 bytes in flight, and as many stores after them; a block takes what lies together. Plain
// loads and stores: those that ask for no place in a cache take 2 % longer.
template <unsigned int AT_ONCE>
__device__ void copy_all(const uint4* from, uint4* to, unsigned int vectors) {
    unsigned int first = blockIdx.x * AT_ONCE * blockDim.x + threadIdx.x;
    uint4 v[AT_ONCE];
    for (unsigned int k = 0; k < AT_ONCE; k++) {
        unsigned int i = first + k * blockDim.x;
        if (i < vectors) v[k] = from[i];
    }
    for (unsigned int k = 0; k < AT_ONCE; k++) {
        unsigned int i = first + k * blockDim.x;
        if (i < vectors) to[i] = v[k];
    }
}
// ANCHOR_END: copy

extern "C" __global__ void copy_all_1(const uint4* from, uint4* to, unsigned int vectors) {
    copy_all<1>(from, to, vectors);
}

extern "C" __global__ void copy_all_2(const uint4* from, uint4* to, unsigned int vectors) {
    copy_all<2>(from, to, vectors);
}

extern "C" __global__ void copy_all_4(const uint4* from, uint4* to, unsigned int vectors) {
    copy_all<4>(from, to, vectors);
}

// How many words of two arrays differ, added to `unequal`. Arrays of any length: words of 2 bytes.
extern "C" __global__ void count_unequal(const unsigned short* a, const unsigned short* b, unsigned long long words,
                                         unsigned long long* unequal) {
    unsigned long long stride = (unsigned long long)gridDim.x * blockDim.x;
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long vectors = words / 8, mine = 0;
    for (unsigned long long v = i; v < vectors; v += stride) {
        uint4 x = reinterpret_cast<const uint4*>(a)[v], y = reinterpret_cast<const uint4*>(b)[v];
        mine += (x.x != y.x) + (x.y != y.y) + (x.z != y.z) + (x.w != y.w);
    }
    for (unsigned long long w = 8 * vectors + i; w < words; w += stride) mine += a[w] != b[w];
    if (mine > 0) atomicAdd(unequal, mine);
}
