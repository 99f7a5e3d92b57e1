// A network that sorts: every step of every stage behind a barrier.
// simt: --kernel bitonic_sort --grid 3 --block 256 --arg data=i32[768]:rand(5) --print data
extern "C" __global__ void bitonic_sort(int* data) {
    __shared__ int s[256];
    unsigned t = threadIdx.x;
    s[t] = data[blockIdx.x * 256 + t];
    for (unsigned size = 2; size <= 256; size *= 2)
        for (unsigned stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            unsigned other = t ^ stride;
            if (other > t) {
                bool up = (t & size) == 0;
                if ((s[t] > s[other]) == up) { int x = s[t]; s[t] = s[other]; s[other] = x; }
            }
        }
    __syncthreads();
    data[blockIdx.x * 256 + t] = s[t];
}
