// alloca in device code
// simt: --kernel vla --grid 1 --block 32 --arg o=i32[32]:zero --print o
extern "C" __global__ void vla(int *o) { int t = threadIdx.x; int *a = (int *)__builtin_alloca((t % 5 + 1) * 4); for (int i = 0; i <= t % 5; i++) a[i] = i * t; o[t] = a[t % 5]; }
