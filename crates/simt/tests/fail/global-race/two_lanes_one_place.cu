// Two neighbours store their own number to one place: which of the two stays is left to the card.
extern "C" __global__ void halves(int *out)
{
    unsigned t = threadIdx.x;
    out[t / 2] = t; //~ ERROR[global-race]
}
