// Exercise: a sum of floats in slots of integers, which do not round.
//
// Each thread has 18 slots of 64 bits. Slots 0 to 7 hold positive numbers, 8 to 15 negative ones, each those
// of 32 exponents. Slots 16 and 17 take what goes over the highest of either sign. In units of 2^-150 the
// exponent as it is stored is the power of two. There are 32 or 64 threads, and each takes 2,048 elements
// or fewer.

using u64 = unsigned long long;
constexpr unsigned int SLOTS = 18, FULL = 0xffffffff;

// Slot number of a place, 0 to 8 from the lowest, on one side: 0 positive, 1 negative.
__device__ unsigned int slot_at(unsigned int place, unsigned int side) {
    return place < 8 ? 8 * side + place : 16 + side;
}

// ANCHOR: starter
// TODO: where a thread's slot lies. Two threads should never need different
// words of one bank at once, whatever the slots are.
__device__ unsigned int where(unsigned int slot, unsigned int thread) {
    return thread * SLOTS + slot;
}

__device__ void add(u64* slots, float x) {
    unsigned int bits = __float_as_uint(x);
    // TODO: the integer of x, which slot it belongs to, and how far to shift.
}

__device__ void carry(u64* slots) {
    // TODO: hand on the upper half of each slot, on either side.
}

// All of a thread's elements, from its first one on.
__device__ void add_all(u64* slots, const float* in, unsigned int first,
                        unsigned int n) {
    for (unsigned int i = first; i < n; i += gridDim.x * blockDim.x) {
        // TODO: after how many additions might a slot overflow?
        add(slots, in[i]);
    }
}
// ANCHOR_END: starter

// The same slot's sum over all threads, in lane 0 of warp 0.
__device__ double sum_of(const u64* slots, unsigned int slot) {
    u64 low = 0, high = 0;
    for (unsigned int t = threadIdx.x; t < blockDim.x; t += 32) {
        low += slots[where(slot, t)] & FULL;
        high += slots[where(slot, t)] >> 32;
    }
    for (unsigned int apart = 16; apart > 0; apart /= 2) {
        low += __shfl_down_sync(FULL, low, apart);
        high += __shfl_down_sync(FULL, high, apart);
    }
    return static_cast<double>(high) * 0x1p32 + static_cast<double>(low);
}

extern "C" __global__ void own_slots_f32(const float* in, float* out, unsigned int n) {
    __shared__ u64 slots[SLOTS * 64];
    for (unsigned int slot = 0; slot < SLOTS; slot++) slots[where(slot, threadIdx.x)] = 0;
    add_all(slots, in, blockIdx.x * blockDim.x + threadIdx.x, n);
    __syncthreads();
    if (threadIdx.x >= 32) return;
    double sum = 0, unit = 0x1p106; // 2^(8 * 32 - 150)
    for (unsigned int place = 9; place-- > 0; unit *= 0x1p-32) {
        sum += (sum_of(slots, slot_at(place, 0)) - sum_of(slots, slot_at(place, 1))) * unit;
    }
    if (threadIdx.x == 0) out[blockIdx.x] = static_cast<float>(sum);
}
