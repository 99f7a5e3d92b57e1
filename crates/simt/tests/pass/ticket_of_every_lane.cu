// Every thread takes a ticket, and whoever has the last one puts the counter back: each ticket was read by the next.
extern "C" __global__ void tickets(unsigned* ticket, unsigned* out) {
    unsigned mine = atomicAdd(ticket, 1);
    if (mine == gridDim.x * blockDim.x - 1) {
        *ticket = 0; //~ NOTE[ordered-by-observation]
        *out = mine;
    }
}
