// Hardware reductions of warps, and of the lanes of each class.
// simt: --kernel redux_partial_masks --grid 2 --block 64 --arg in=i32[128]:rand(3) --arg out=i32[1280]:zero --print out
extern "C" __global__ void redux_partial_masks(const int* in, int* out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    int x = in[i];
    unsigned u = x;
    int* mine = out + 10 * i;
    mine[0] = __reduce_add_sync(0xffffffff, x);
    mine[1] = __reduce_min_sync(0xffffffff, x);
    mine[2] = __reduce_max_sync(0xffffffff, x);
    mine[3] = __reduce_min_sync(0xffffffff, u);
    mine[4] = __reduce_max_sync(0xffffffff, u);
    mine[5] = __reduce_and_sync(0xffffffff, u | 0xff00);
    unsigned peers = __match_any_sync(0xffffffff, u % 3);
    mine[6] = __reduce_or_sync(peers, u);
    mine[7] = __reduce_xor_sync(peers, u);
    mine[8] = __reduce_add_sync(peers, u);
    mine[9] = u % 3 == 1 ? __reduce_max_sync(peers, x) : __popc(peers);
}
