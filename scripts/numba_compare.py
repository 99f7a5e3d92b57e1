"""Runs one reduction on Numba's CUDA simulator and on simt, and writes how long each took.

Usage: python3 scripts/numba_compare.py [--n N] [--simt PROGRAM] [--out FILE.json]

Installs Numba with pip into target/numba if it is not there, and builds `simt` with cargo unless --simt names one. The
kernel is chapter 3's tree in shared memory, written line for line in Python; both sums are checked. What is timed is the
launch alone: not the start of a process, not the reading of PTX, not the filling of arrays. Each time is the least of
several. Numba's simulator starts a thread of the host for each thread of a block, and its interpreter runs one at a time;
simt is given one thread. Of Numba the processor's time is taken beside that of the clock, and compared: what else the
machine does counts less in it.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLACE = ROOT / "target" / "numba"
BLOCK = 256
REPEATS = 3

# What runs under Numba: it prints one JSON object.
REDUCTION = """
import json, sys, time
import numba, numpy as np
from numba import cuda, int32

N, BLOCK, REPEATS = (int(word) for word in sys.argv[1:])
assert BLOCK == 256

@cuda.jit
def sequential(values, out, n):
    sums = cuda.shared.array(256, int32)
    tid = cuda.threadIdx.x
    i = cuda.blockIdx.x * cuda.blockDim.x + tid
    sums[tid] = values[i] if i < n else 0
    cuda.syncthreads()
    s = cuda.blockDim.x // 2
    while s > 0:
        if tid < s:
            sums[tid] += sums[tid + s]
        cuda.syncthreads()
        s //= 2
    if tid == 0:
        out[cuda.blockIdx.x] = sums[0]

values = np.arange(N, dtype=np.int32) % 1000
blocks = (N + BLOCK - 1) // BLOCK
seconds, processor_seconds = [], []
for _ in range(REPEATS):
    out = np.zeros(blocks, dtype=np.int32)
    start, processor_start = time.perf_counter(), time.process_time()
    sequential[blocks, BLOCK](values, out, N)
    seconds.append(time.perf_counter() - start)
    processor_seconds.append(time.process_time() - processor_start)
    padded = np.append(values, np.zeros(blocks * BLOCK - N, dtype=np.int32))
    assert np.array_equal(out, padded.reshape(blocks, BLOCK).sum(axis=1, dtype=np.int32)), "the sums are wrong"
print(json.dumps({"version": numba.__version__, "seconds": min(seconds), "processor_seconds": min(processor_seconds)}))
"""


def python_with_numba():
    python = PLACE / "bin" / "python"
    if not python.exists():
        venv.create(PLACE, with_pip=True)
    if subprocess.run([python, "-c", "import numba"], capture_output=True).returncode != 0:
        subprocess.run([python, "-m", "pip", "install", "--quiet", "numba"], check=True)
    return python


def run_numba(n):
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}
    words = [python_with_numba(), "-c", REDUCTION, str(n), str(BLOCK), str(REPEATS)]
    return json.loads(subprocess.run(words, env=environment, check=True, capture_output=True, text=True).stdout)


def run_simt(program, n, checks):
    blocks = -(-n // BLOCK)
    words = [program, "run", ROOT / "kernels/ptx/ch03-sequential.ptx", "--kernel", "sequential_i32"]
    words += ["--grid", str(blocks), "--block", str(BLOCK), "--threads", "1", "--check", checks, "--json"]
    words += ["--arg", f"in=i32[{n}]:iota", f"out=i32[{blocks}]:zero", f"n=u32:{n}", "--print", "out"]
    best = None
    for _ in range(REPEATS):
        found = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
        assert not found["faults"], found["faults"]
        wrap = lambda total: (total + 2**31) % 2**32 - 2**31
        wanted = [wrap(sum(range(b * BLOCK, min((b + 1) * BLOCK, n)))) for b in range(blocks)]
        assert found["outputs"]["out"] == wanted, "the sums are wrong"
        best = found["seconds"] if best is None else min(best, found["seconds"])
    return best


def built_simt():
    subprocess.run(["cargo", "build", "--release", "-p", "simt"], cwd=ROOT, check=True)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / "simt"


def processor():
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=1 << 14, help="elements (default %(default)s)")
    parser.add_argument("--simt", type=pathlib.Path, help="the program to run (default: built by cargo)")
    parser.add_argument("--out", type=pathlib.Path, help="where to write the record as JSON")
    options = parser.parse_args()
    if not 1 <= options.n <= 1 << 20:
        parser.error(f"--n {options.n}: from 1 to {1 << 20}: the slower of the two takes minutes for more")
    program = options.simt.resolve() if options.simt else built_simt()
    numba = run_numba(options.n)
    record = {
        "date": datetime.date.today().isoformat(),
        "processor": processor(),
        "python": platform.python_version(),
        "numba": numba["version"],
        "kernel": "sequential_i32",
        "n": options.n,
        "block": BLOCK,
        "numba_seconds": numba["seconds"],
        "numba_processor_seconds": numba["processor_seconds"],
        "simt_seconds": run_simt(program, options.n, "all"),
        "simt_seconds_without_checks": run_simt(program, options.n, "none"),
    }
    for key in ["simt_seconds", "simt_seconds_without_checks"]:
        ratio = record["numba_processor_seconds"] / record[key]
        print(f"{key:28} {record[key]:.6f}   Numba takes {ratio:,.0f} times as long")
    for key in ["numba_seconds", "numba_processor_seconds"]:
        print(f"{key:28} {record[key]:.3f}")
    if options.out:
        options.out.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main())
