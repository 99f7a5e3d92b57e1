// A sum of floats in slots of integers: slots that never carry.
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

__device__ unsigned int where(unsigned int slot, unsigned int thread) {
    return slot * blockDim.x + thread;
}

__device__ void add(u64* slots, float x) {
    unsigned int bits = __float_as_uint(x);
    unsigned int fraction = bits & 0x7fffff;
    unsigned int integer = bits & 0x7f800000 ? fraction + 0x800000 : 2 * fraction;
    unsigned int power = 1u << (bits >> 23 & 31);
    slots[where(bits >> 28, threadIdx.x)] += static_cast<u64>(integer) * power;
}

__device__ void carry(u64* slots) {
    for (unsigned int side = 0; side < 2; side++) {
        u64 up = 0;
        for (unsigned int place = 0; place < 8; place++) {
            u64& slot = slots[where(slot_at(place, side), threadIdx.x)];
            u64 low = (slot & FULL) + up;
            up = (slot >> 32) + (low >> 32);
            slot = low & FULL;
        }
        slots[where(slot_at(8, side), threadIdx.x)] += up;
    }
}

// All of a thread's elements, from its first one on.
__device__ void add_all(u64* slots, const float* in, unsigned int first,
                        unsigned int n) {
    unsigned int added = 0;
    for (unsigned int i = first; i < n; i += gridDim.x * blockDim.x) {
        add(slots, in[i]);
        added++;
    }
}

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
