"""Times what torch has for the operators of chapter 9, eager and compiled, and writes the cases of a record.

Usage: python3 scripts/torch_operators.py OUT.json [FIRST LAST [SECONDS]]
       python3 scripts/torch_operators.py --ahead SECONDS

FIRST and LAST are logarithms of the number of elements, default 10 and 28. The method is that of scripts/torch_sum.py: CUDA
graphs of several reductions, each of an array of its own, cold, the median of the replays. Two results of each are judged
against the same operation in 64 bits. Eager: every second power of two. Compiled: torch.compile in its mode
max-autotune-no-cudagraphs, for what HEADLINE names and four powers of two, the largest first, since each size is compiled
anew. What the chapter keeps in 64 bits is asked for in 64 bits. After SECONDS nothing more is begun: 0.4 of them are for the
types that come first, eager, then what is compiled, and the last 0.15 for the other types. What the time is not enough for is
not in the record.

--ahead compiles what the compiled ones need in several processes, for SECONDS at most, when nothing is timed. It leaves
Triton's kernels in TRITON_CACHE_DIR; which of them torch takes is found out anew by the run that times, with the GPU for itself.
"""

import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import time

import torch

import contest

REPLAYS = 9
WARM_UP = 2
CALLS_MIN, CALLS_MAX = 3, 64
COPIES_BYTES = 1 << 30
TYPES = {
    "f32": torch.float32, "bf16": torch.bfloat16, "i8": torch.int8, "i32": torch.int32, "u8": torch.uint8,
    "f64": torch.float64, "i64": torch.int64, "f16": torch.float16, "i16": torch.int16,
}
CONTEST = contest.of("ch09-operators")
FIRST_TYPES = CONTEST.types()[:4]


def held_in(x):
    return {torch.int8: torch.int64, torch.uint8: torch.int64, torch.int16: torch.int64,
            torch.float16: torch.float32, torch.bfloat16: torch.float32}.get(x.dtype, x.dtype)


OPS = {
    "sum": lambda x, y: torch.sum(x, dtype=held_in(x)),
    "max": lambda x, y: torch.amax(x),
    "min": lambda x, y: torch.amin(x),
    "maximum": lambda x, y: torch.amax(x),
    "minimum": lambda x, y: torch.amin(x),
    "prod": lambda x, y: torch.prod(x, dtype=held_in(x)),
    "sumsq": lambda x, y: torch.sum(torch.square(x.to(held_in(x)))),
    "dot": lambda x, y: torch.sum(x.to(held_in(x)) * y.to(held_in(y))),
    "count": lambda x, y: torch.count_nonzero(x > 0),
    "argmax": lambda x, y: torch.argmax(x),
    "argmin": lambda x, y: torch.argmin(x),
    "minmax": lambda x, y: torch.stack(torch.aminmax(x)),
    "meanvar": lambda x, y: torch.stack(torch.var_mean(x, correction=0)),
}
# As one call, where there is one that is quicker than what one would write.
EAGER = {
    "dot": lambda x, y: torch.dot(x, y) if x.is_floating_point() else OPS["dot"](x, y),
    "sumsq": lambda x, y: torch.dot(x, x) if x.is_floating_point() else OPS["sumsq"](x, y),
}


# Compiled, in this order at each size. Without argmax: of 2^28 floats it was compiled in 90 s and took 30 ms, a hundred
# times what the eager one takes.
HEADLINE = [
    ("sum", "f32"), ("sum", "bf16"), ("sum", "i8"), ("sum", "i32"), ("max", "f32"), ("maximum", "f32"),     ("meanvar", "f32"), ("minmax", "f32"), ("dot", "f32"), ("sumsq", "f32"), ("count", "f32"), ("prod", "f32"),
    ("meanvar", "bf16"), ("dot", "bf16"), ("max", "i8"), ("count", "i8"), ("max", "i32"), ("sumsq", "bf16"),
    ("max", "bf16"), ("minmax", "i32"), ("minmax", "bf16"), ("sumsq", "i8"), ("count", "i32"),
]
COMPILED_LOGS = [28, 22, 16, 10]
MODE = "max-autotune-no-cudagraphs"


def numbers(dtype, n, generator, op="sum"):
    """Numbers of the whole range of integers, and floats from -1 to 1; factors are near 1, so that their product is a number."""
    if dtype.is_floating_point:
        values = torch.rand(n, device="cuda", generator=generator)
        values = values.mul_(2).sub_(1) if op != "prod" else values.mul_(2).sub_(1).mul_(2.0**-10).add_(1)
        return values.to(dtype)
    info = torch.iinfo(dtype)
    return torch.randint(info.min, info.max, (n,), dtype=dtype, device="cuda", generator=generator)


def is_right(op, got, x, y):
    """Integers and elements that are chosen: exactly. Floats: within what many rounded additions explain."""
    if op in ("argmax", "argmin"):
        return bool(x[got] == (x.max() if op == "argmax" else x.min()))
    is_float = x.is_floating_point()
    wide = torch.float64 if is_float else torch.int64
    a, b = x.to(wide), y.to(wide) if y is not None else None
    exact = OPS[op](a, b)
    if op in ("max", "min", "maximum", "minimum", "minmax", "count"):
        return bool((got.to(exact.dtype) == exact).all())
    if not is_float:  # in as many bits as the result has
        return (int(got) - int(exact)) % 2 ** (8 * got.element_size()) == 0
    if op == "meanvar":  # of numbers from -1 to 1
        scale = torch.ones((), dtype=wide, device=x.device)
    elif op == "prod":
        scale = 100 * exact.abs()
    else:
        scale = (a.abs() if op == "sum" else a.abs() * (a if b is None else b).abs()).sum()
    loose = 1e-2 if got.element_size() == 2 else 1e-4
    return bool(((got.to(wide) - exact).abs() <= loose * scale).all())


def replay(function, inputs, flush):
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(WARM_UP):
            out = function(*inputs[0])
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        outs = []
        with torch.cuda.graph(graph, stream=stream):
            for pair in inputs:
                outs.append(function(*pair))
        pairs = []
        for turn in range(WARM_UP + REPLAYS):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            flush()
            begin.record(stream)
            graph.replay()
            end.record(stream)
            if turn >= WARM_UP:
                pairs.append((begin, end))
        stream.synchronize()
    return [begin.elapsed_time(end) * 1000 / len(inputs) for begin, end in pairs], outs


def compiled(op):
    torch._dynamo.reset()
    return torch.compile(OPS[op], mode=MODE, dynamic=False)


def inputs_of(pool, op, n):
    """A pair for each reduction of a graph: an array, and for a dot product the other one behind it."""
    arrays = 2 if op == "dot" else 1
    calls = max(CALLS_MIN, min(CALLS_MAX, COPIES_BYTES // (n * pool.element_size() * arrays)))
    stride = (n + 63) // 64 * 64
    starts = [i * stride * arrays for i in range(calls) if (i + 1) * stride * arrays <= pool.numel()]
    return [(pool[s : s + n], pool[s + stride : s + stride + n] if op == "dot" else None) for s in starts]


class Run:
    """What is found, and where and until when."""

    def __init__(self, out, first, last, seconds):
        self.out, self.first, self.last, self.seconds = out, first, last, seconds
        self.begin = time.monotonic()
        self.generator = torch.Generator(device="cuda").manual_seed(1)
        l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size
        self.large = torch.zeros(4 * l2_bytes // 4, dtype=torch.int32, device="cuda")
        self.largest = torch.empty((), dtype=torch.int32, device="cuda")
        self.pools, self.late = {}, []
        self.record = {"version": torch.__version__, "device": torch.cuda.get_device_name(0), "cases": []}

    def pool(self, name, op):
        """The arrays of a type; those of factors are other ones. The last few are kept."""
        key = (name, op == "prod" and TYPES[name].is_floating_point)
        if key not in self.pools:
            while len(self.pools) > 4:
                del self.pools[next(iter(self.pools))]
            size = torch.empty((), dtype=TYPES[name]).element_size()
            # Three arrays of the largest size; for a dot product of the largest type one pair.
            n = max(COPIES_BYTES // size, (CALLS_MIN if size < 8 else 2) << self.last) + 8192
            self.pools[key] = numbers(TYPES[name], n, self.generator, op)
        return self.pools[key]

    def one(self, entrant, op, name, log, function):
        """Times and judges one case; gives back what is said of it."""
        inputs = inputs_of(self.pool(name, op), op, 1 << log)
        if not inputs:
            return " -"
        times, outs = replay(function, inputs, lambda: torch.amax(self.large, 0, out=self.largest))
        verdicts = [is_right(op, got, *pair) for got, pair in list(zip(outs, inputs))[:2]]
        self.record["cases"].append({
            "chapter": CONTEST.chapter, "contest": "alone", "entrant": entrant, "op": op, "type": name, "n": 1 << log,
            "offsets": None, "cold_us": statistics.median(times), "range_us": [min(times), max(times)], "limit_us": None,
            "judged": len(verdicts), "ok": all(verdicts),
        })
        return f" {statistics.median(times):.2f}" + ("" if all(verdicts) else " WRONG")

    def try_one(self, entrant, op, name, log, until):
        """One operation costs the others nothing."""
        if time.monotonic() - self.begin > until * self.seconds:
            self.late.append(f"{entrant} {op} {name} 2^{log}")
            return ""
        try:
            function = EAGER.get(op, OPS[op]) if entrant == "torch" else compiled(op)
            return self.one(entrant, op, name, log, function)
        except Exception as error:  # pylint: disable=broad-except
            torch.cuda.synchronize()
            print(f"{entrant} {op} {name} 2^{log}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
            return f" {type(error).__name__}"

    def say(self, what, told):
        if told:
            print(f"{time.monotonic() - self.begin:6.1f} s  {what}:{told}", file=sys.stderr, flush=True)
            self.save()

    def save(self):
        with open(self.out + ".new", "w", encoding="utf-8") as file:
            json.dump(self.record, file, indent=1)
            file.write("\n")
        os.replace(self.out + ".new", self.out)

    def eager(self, names, until):
        for name in names:
            for op in [op for op, ty in CONTEST.tasks() if ty == name and op in OPS]:
                logs = range(self.first, self.last + 1, 2)
                self.say(f"torch {op} {name}", "".join(self.try_one("torch", op, name, log, until) for log in logs))

    def compiled(self, until):
        for log in [log for log in COMPILED_LOGS if self.first <= log <= self.last]:
            for op, name in HEADLINE:
                self.say(f"torch_compiled {op} {name} 2^{log}", self.try_one("torch_compiled", op, name, log, until))


def compile_ahead(task):
    """In a process of its own, which chooses among the kernels for itself alone."""
    op, name, log = task
    generator = torch.Generator(device="cuda").manual_seed(1)
    pool = numbers(TYPES[name], ((1 << log) + 64) * (2 if op == "dot" else 1), generator, op)
    compiled(op)(*inputs_of(pool, op, 1 << log)[0])
    torch.cuda.synchronize()
    return task


def own_cache(folder):
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(folder, str(os.getpid()))
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"


def ahead(seconds):
    begin = time.monotonic()
    if "TRITON_CACHE_DIR" not in os.environ:
        sys.exit("torch_operators.py: --ahead needs TRITON_CACHE_DIR, a folder that the run that times has too")
    tasks = [(op, name, log) for log in COMPILED_LOGS for op, name in HEADLINE]
    done = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        context = multiprocessing.get_context("spawn")
        pool = context.Pool(max(1, (os.cpu_count() or 2) - 2), own_cache, (folder,))
        found = [pool.apply_async(compile_ahead, (task,)) for task in tasks]
        for result in found:
            try:
                result.get(max(0.0, begin + seconds - time.monotonic()))
                done += 1
            except multiprocessing.TimeoutError:
                break
            except Exception as error:  # one that does not compile says so again when it is timed
                print(f"torch_operators.py: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
        pool.terminate()
    print(f"{done} of {len(tasks)} compiled ahead in {time.monotonic() - begin:.0f} s", file=sys.stderr)


def main(words):
    if words[:1] == ["--ahead"] and len(words) == 2:
        return ahead(float(words[1]))
    if len(words) not in (1, 3, 4) or words[0].startswith("-"):
        sys.exit(__doc__)
    if not torch.cuda.is_available():
        sys.exit("torch_operators.py: torch is here, but sees no GPU")
    first, last = (int(word) for word in words[1:3] or (10, 28))
    run = Run(words[0], first, last, float(words[3]) if len(words) > 3 else float("inf"))
    run.eager(FIRST_TYPES, 0.4)
    run.compiled(0.85)
    run.eager([name for name in CONTEST.types()[4:] if name in TYPES], 1.0)
    run.save()
    if run.late:
        print(f"the time is up; left out: {', '.join(run.late)}", file=sys.stderr)
    return None


if __name__ == "__main__":
    main(sys.argv[1:])
