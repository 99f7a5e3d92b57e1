// Many threads count in one word. That it is volatile makes no addition of it that nobody can come between.
extern "C" __global__ void count(volatile int* c) {
    c[0] = c[0] + 1; //~ ERROR[global-race]
}
