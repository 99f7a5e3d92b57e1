// Variables whose initial values are addresses of other variables, with offsets.
// simt: --kernel linked_list --grid 1 --block 64 --arg out=i32[64]:zero --print out
struct Node { const Node* next; int value; short step; };
__device__ Node last = {nullptr, 10, -1};
__device__ Node pair[2] = {{&last, -20, 2}, {&last, 30, 3}};
__device__ Node first = {&pair[1], -40, -4};
__device__ int data[6] = {5, -6, 7, -8, 9, -10};
__device__ int* const middles[3] = {data + 2, &data[5], data};
__device__ const char* const words[3] = {"one", "twenty", "three hundred"};

extern "C" __global__ void linked_list(int* out) {
    unsigned i = threadIdx.x;
    int sum = 0;
    unsigned k = 0;
    for (const Node* node = i % 4 ? &pair[i % 2] : &first; node; node = node->next)
        sum += node->value * (int)(++k + i) + node->step;
    int letters = 0;
    for (const char* word = words[i % 3]; *word; ++word) letters = letters * 7 + *word;
    out[i] = sum * 1000 + *middles[i % 3] + letters % 997;
}
