// A number is taken for an address; no array lies there.
extern "C" __global__ void anywhere()
{
    *(int *)0x87654320 = 42; //~ ERROR[out-of-bounds]
}
