// Another solution of neighbours: it counts how many additions a round has, and keeps a pointer to the slice.
template <typename T>
__device__ void neighbours(T* data, T* out, unsigned int n) {
    unsigned int start = blockIdx.x * (blockDim.x * 2);
    unsigned int there = n - start; // elements from the slice's start on: at least one, or there would be no such block
    T* slice = data + start;

    unsigned int apart = 1;
    for (unsigned int additions = blockDim.x; additions > 0; additions /= 2) {
        if (threadIdx.x < additions) {
            unsigned int near = threadIdx.x * apart * 2, far = near + apart;
            if (far < there) slice[near] = slice[near] + slice[far];
        }
        apart *= 2;
        __syncthreads();
    }

    if (threadIdx.x == 0) {
        out[blockIdx.x] = slice[0];
    }
}

extern "C" __global__ void neighbours_i32(unsigned int* data, unsigned int* out, unsigned int n) {
    neighbours(data, out, n);
}
extern "C" __global__ void neighbours_f32(float* data, float* out, unsigned int n) {
    neighbours(data, out, n);
}
