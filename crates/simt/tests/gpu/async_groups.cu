// Copies by whole groups of threads (cooperative groups), one stage ahead, with a last piece that is short.
// simt: --kernel async_groups --grid 3 --block 96 --shared 768 --arg in=u32[1440]:hash8 --arg out=u32[1440]:zero --arg n=u32:480 --print out
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;

extern "C" __global__ void async_groups(const unsigned* in, unsigned* out, unsigned n) {
    extern __shared__ unsigned stage[];
    auto block = cg::this_thread_block();
    unsigned size = block.size(), t = block.thread_rank();
    in += blockIdx.x * n;
    out += blockIdx.x * n;
    // Each block has its own length, so that the last piece of some is short.
    unsigned length = n - blockIdx.x * 10;
    auto piece = [&](unsigned at) { return at + size <= length ? size : length - at; };
    cg::memcpy_async(block, stage, in, sizeof(unsigned) * piece(0));
    for (unsigned at = 0, now = 0; at < length; at += size, now ^= 1) {
        if (at + size < length) {
            cg::memcpy_async(block, stage + (now ^ 1) * size, in + at + size, sizeof(unsigned) * piece(at + size));
            cg::wait_prior<1>(block);
        } else {
            cg::wait(block);
        }
        unsigned m = piece(at);
        if (t < m) {
            out[at + t] = stage[now * size + m - 1 - t] * 3 + t;
        }
        block.sync();
    }
}
