// What the kernels take of CUDA's header of this name, which NVRTC does not bring.
#pragma once
namespace cooperative_groups {
#if __CUDA_ARCH__ >= 900
struct Cluster {
    static __device__ void barrier_arrive() { __cluster_barrier_arrive(); }
    static __device__ void barrier_wait() { __cluster_barrier_wait(); }
    static __device__ void sync() {
        barrier_arrive();
        barrier_wait();
    }
    template <typename T> static __device__ T* map_shared_rank(T* address, int rank) {
        return static_cast<T*>(__cluster_map_shared_rank(address, rank));
    }
};
inline __device__ Cluster this_cluster() { return {}; }
#endif
}
