// A walk over a tree whose shape depends on the lane, with an accumulator in the caller's frame.
// simt: --kernel tree_walk --grid 2 --block 64 --arg in=u32[255]:hash8 --arg out=u32[256]:zero --print out
struct Walk { unsigned sum, nodes; };
__device__ __noinline__ void visit(const unsigned* tree, unsigned node, unsigned limit, Walk* walk) {
    if (node >= 255 || tree[node] % limit == 0) return;
    walk->nodes += 1;
    visit(tree, 2 * node + 1, limit, walk);
    walk->sum = walk->sum * 3 + tree[node];
    visit(tree, 2 * node + 2, limit, walk);
}

extern "C" __global__ void tree_walk(const unsigned* in, unsigned* out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    Walk walk = {i, 0};
    visit(in, i % 5, 3 + i % 11, &walk);
    out[2 * i] = walk.sum;
    out[2 * i + 1] = walk.nodes;
}
