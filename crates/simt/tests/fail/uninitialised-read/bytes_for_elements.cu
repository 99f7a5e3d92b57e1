// As many bytes were cleared as there are elements, which is a quarter of them.
extern "C" __global__ void add(const unsigned *cleared, unsigned *out)
{
    out[threadIdx.x] = cleared[threadIdx.x] + 1; //~ ERROR[uninitialised-read]
}
