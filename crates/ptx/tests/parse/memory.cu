// State spaces: constants, initialisers with addresses, structures as parameters, vectors, caches, local arrays.
struct Point { float x, y; short tag; };
struct Table { const int* base; int stride; unsigned char flags[5]; };
__constant__ int weights[4] = {1, -2, 3};
__constant__ Point origin = {1.5f, -2.25f, 7};
__device__ short scalars[3][2] = {{1, 2}, {-3, 4}, {5, 6}};
__device__ int source[8];
__device__ const int* pointer_to_third = source + 3;
__device__ Table table = {source, 2, {1, 2, 3}};
__device__ double half_pi = 1.5707963267948966;
__device__ const char* greeting = "reduction";
__managed__ unsigned managed_total = 5;
static __shared__ float tile[16][17];

extern "C" __global__ void memory(Point p, Table t, const float4* __restrict__ in, float4* out, const int2* pairs, int index) {
    __shared__ __align__(16) int4 quads[32];
    __shared__ unsigned char bytes[33];
    float local[8];
    for (int i = 0; i < 8; ++i) local[(i * index) & 7] = p.x * i + weights[i & 3];
    float4 v = __ldg(in + index), c = __ldcg(in + 1), s = __ldcs(in + 2);
    tile[threadIdx.y][threadIdx.x] = v.x + c.y + s.z + origin.y;
    bytes[threadIdx.x] = (unsigned char)t.flags[index & 3];
    quads[threadIdx.x] = make_int4(p.tag, t.stride, scalars[index][1], source[index]);
    __syncthreads();
    volatile int* spin = (volatile int*)(source + 1);
    int seen = *spin + *(volatile int*)&quads[3].y;
    int2 pair = pairs[index];
    out[threadIdx.x] = make_float4(local[index & 7], tile[threadIdx.x][3], bytes[index] + quads[index & 31].z, pair.x + pair.y + seen);
    __stcs(out + 33, v);
    out[34].x = *pointer_to_third + table.flags[2] + (float)half_pi + greeting[index] + managed_total + t.base[index];
    asm volatile("prefetch.global.L2 [%0]; prefetchu.L1 [%0];" :: "l"(in));
    asm volatile("{ .reg .pred p; .reg .u32 q; isspacep.shared p, %1; selp.u32 q, 1, 0, p; st.global.u32 [%0], q; }" :: "l"(out), "l"(in));
    asm volatile("ld.global.L1::no_allocate.L2::128B.v2.u32 {%0, %1}, [%2];" : "=r"(seen), "=r"(index) : "l"(in));
    source[2] = seen + index;
}
