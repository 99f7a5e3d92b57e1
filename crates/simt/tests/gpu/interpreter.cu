// A little machine: lanes run one program on different numbers and part at every jump.
// simt: --kernel interpreter --grid 2 --block 64 --arg out=u32[128]:zero --print out
enum { LOAD, ADD, MUL, DEC, JNZ, SHR, STOP };
struct Op { unsigned char code, a, b; };
__constant__ Op program[8] = {{LOAD, 1, 1}, {MUL, 1, 0}, {ADD, 1, 2}, {DEC, 0, 0}, {JNZ, 0, 1}, {SHR, 1, 3}, {ADD, 1, 2}, {STOP, 1, 0}};

extern "C" __global__ void interpreter(unsigned* out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned reg[3] = {i % 9 + 1, 0, i};
    unsigned at = 0;
    for (bool running = true; running;) {
        Op op = program[at++];
        switch (op.code) {
            case LOAD: reg[op.a] = op.b; break;
            case ADD: reg[op.a] += reg[op.b]; break;
            case MUL: reg[op.a] *= reg[op.b]; break;
            case DEC: reg[op.a] -= 1; break;
            case JNZ: if (reg[op.a] != 0) at = op.b; break;
            case SHR: reg[op.a] >>= op.b; break;
            default: out[i] = reg[op.a]; running = false;
        }
    }
}
