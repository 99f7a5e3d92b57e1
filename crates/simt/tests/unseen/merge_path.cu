// Merge path: each thread finds its diagonal by binary search and merges VT items (Green, McColl, Bader)
// simt: --kernel merge_path --grid 5 --block 96 --arg a=i32[1500]:iota --arg b=i32[1100]:iota --arg out=i32[2600]:const(-1) --arg na=i32:1500 --arg nb=i32:1100 --print out
template <int VT> __device__ void merge_thread(const int *a, const int *b, int *out, int na, int nb, int tid)
{
    auto A = [=](int i) { return i * 7 % 3 + a[i] * 3; };
    auto B = [=](int i) { return b[i] * 4 - 50; };
    int diag = min(tid * VT, na + nb), lo = max(0, diag - nb), hi = min(diag, na);
    while (lo < hi) { int mid = (lo + hi) >> 1; if (A(mid) <= B(diag - 1 - mid)) lo = mid + 1; else hi = mid; }
    int i = lo, j = diag - lo;
#pragma unroll
    for (int k = 0; k < VT; k++) {
        if (diag + k >= na + nb) return;
        bool takeA = j >= nb || (i < na && A(i) <= B(j));
        out[diag + k] = takeA ? A(i++) : B(j++);
    }
}
extern "C" __global__ void merge_path(const int *a, const int *b, int *out, int na, int nb)
{
    merge_thread<7>(a, b, out, na, nb, blockIdx.x * blockDim.x + threadIdx.x);
}
