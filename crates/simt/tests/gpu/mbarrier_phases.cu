// Barrier objects by hand: arrivals of several at once, without completion, for the last time; waits by state and by parity; bytes.
// simt: --kernel mbarrier_phases --grid 2 --block 96 --arg out=u32[768]:zero --print out
__device__ void wait_for(unsigned object, unsigned parity) {
    asm volatile("{ .reg .pred p; WAIT: mbarrier.test_wait.parity.shared.b64 p, [%0], %1; @!p bra WAIT; }" :: "r"(object), "r"(parity) : "memory");
}

extern "C" __global__ void mbarrier_phases(unsigned* out) {
    __shared__ alignas(8) unsigned long long full, few;
    __shared__ unsigned values[96], others[96], notes[3];
    unsigned t = threadIdx.x, f = (unsigned)__cvta_generic_to_shared(&full), g = (unsigned)__cvta_generic_to_shared(&few);
    if (t == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 96; mbarrier.init.shared.b64 [%1], 4;" :: "r"(f), "r"(g) : "memory");
        notes[0] = notes[1] = notes[2] = 0;
    }
    __syncthreads();
    out += blockIdx.x * 384 + t;
    // All arrive and wait by their state.
    values[t] = t * 3 + blockIdx.x;
    unsigned long long state;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(f) : "memory");
    asm volatile("{ .reg .pred p; WAIT: mbarrier.test_wait.shared.b64 p, [%0], %1; @!p bra WAIT; }" :: "r"(f), "l"(state) : "memory");
    out[0] = values[(t + 33) % 96];
    // Three warps hand over to all: warp 0 counts for two, once without completing; warps 1 and 2 one each.
    if (t == 0) {
        notes[0] = 100;
        asm volatile("mbarrier.arrive.noComplete.shared.b64 %0, [%1], 1;" : "=l"(state) : "r"(g) : "memory");
        asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(g) : "memory");
    } else if (t % 32 == 0) {
        notes[t / 32] = 100 + t;
        asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(g) : "memory");
    }
    wait_for(g, 0);
    out[96] = notes[0] + notes[1] + notes[2];
    // Thread 64 leaves the second phase of the first object for good; afterwards 95 are enough.
    others[95 - t] = t + 7;
    if (t == 64) {
        asm volatile("mbarrier.arrive_drop.shared.b64 _, [%0];" :: "r"(f) : "memory");
    } else {
        asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(f) : "memory");
    }
    wait_for(f, 1);
    out[192] = others[(t + 50) % 96];
    if (t != 64) {
        asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(f) : "memory");
    }
    wait_for(f, 0);
    // A parity that is not there yet has been before: it is over.
    unsigned over;
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(over) : "r"(f) : "memory");
    out[288] = over;
    __syncthreads();
    if (t == 0) {
        asm volatile("mbarrier.inval.shared.b64 [%0]; mbarrier.inval.shared.b64 [%1];" :: "r"(f), "r"(g) : "memory");
    }
}
