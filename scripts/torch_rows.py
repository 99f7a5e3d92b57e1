"""Times what torch has for the rows and columns of chapter 10, eager and compiled, and writes the cases of a record.

Usage: python3 scripts/torch_rows.py OUT.json [--seconds SECONDS]

The method is that of scripts/torch_operators.py: CUDA graphs of several reductions, each of a matrix of its own, cold, the
median of the replays; two results of each are judged, row by row, against the same operation in 64 bits. Shapes, types
and operations are those of chapters/ch10-rows/contest.json. Eager: sum, amax, argmax and var_mean of rows and the sum of columns,
and sums of the shapes drawn at random. Compiled: torch.compile in its mode max-autotune-no-cudagraphs, what COMPILED names, for
each shape anew. What the chapter keeps in 32 bits is asked for in 32 bits. After SECONDS nothing more is begun: up to half of them
are eager. What the time is not enough for is not in the record.
"""

import json
import os
import statistics
import sys
import time

import torch

import contest

REPLAYS = 9
WARM_UP = 2
CALLS_MIN, CALLS_MAX = 3, 64
COPIES_BYTES = 1 << 30
CONTEST = contest.of("ch10-rows")
SHAPES = CONTEST.shapes()
# In this order, each for all shapes. What takes longest to compile comes last.
COMPILED = [
    ("sum", "f32", "row"), ("sum", "f32", "column"), ("meanvar", "f32", "row"), ("sum", "bf16", "row"),
    ("maximum", "f32", "row"), ("argmax", "f32", "row"),
]
MODE = "max-autotune-no-cudagraphs"


TYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
OPS = {
    ("sum", "row"): lambda x: torch.sum(x, dim=1, dtype=torch.float32),
    ("maximum", "row"): lambda x: torch.amax(x, dim=1),
    ("argmax", "row"): lambda x: torch.argmax(x, dim=1),
    ("meanvar", "row"): lambda x: torch.var_mean(x, dim=1, correction=0),
    ("sum", "column"): lambda x: torch.sum(x, dim=0, dtype=torch.float32),
}
# Name in the record, what of the matrix gets a value.
EAGER = [case for case in [*((op, "row") for op in CONTEST.ops()), ("sum", "column")] if case in OPS]


def is_right(op, per, got, x):
    """Row by row. What is chosen: exactly. Else within what many rounded additions explain."""
    dim = 1 if per == "row" else 0
    if op == "argmax":
        return bool((x.gather(1, got[:, None])[:, 0] == x.amax(1)).all())
    if op == "maximum":
        return bool((got == x.amax(1)).all())
    wide = x.to(torch.float64)
    loose = 1e-2 if got[0].dtype == torch.bfloat16 else 1e-4
    if op == "meanvar":  # of numbers from -1 to 1
        mean = wide.mean(1)
        variance = (wide - mean[:, None]).square_().mean(1)
        return all(bool(((a.to(torch.float64) - b).abs() <= loose).all()) for a, b in zip(got, (variance, mean)))
    return bool(((got.to(torch.float64) - wide.sum(dim)).abs() <= loose * wide.abs().sum(dim)).all())


def replay(function, inputs, flush=None):
    """Times, results and their graph. Warm, without a flush, each call's results lie where those of the one before did."""
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(WARM_UP):
            function(inputs[0])
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        outs = []
        with torch.cuda.graph(graph, stream=stream):
            for matrix in inputs:
                if flush is None:
                    outs.clear()
                outs.append(function(matrix))
        pairs = []
        for turn in range(WARM_UP + REPLAYS):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            if flush is not None:
                flush()
            begin.record(stream)
            graph.replay()
            end.record(stream)
            if turn >= WARM_UP:
                pairs.append((begin, end))
        stream.synchronize()
    times = [begin.elapsed_time(end) * 1000 / len(inputs) for begin, end in pairs]
    return times, outs, graph  # the results are the graph's memory


def compiled(op, per):
    torch._dynamo.reset()
    return torch.compile(OPS[op, per], mode=MODE, dynamic=False)


class Run:
    """What is found, and where and until when."""

    def __init__(self, out, seconds):
        self.out, self.seconds = out, seconds
        self.begin = time.monotonic()
        generator = torch.Generator(device="cuda").manual_seed(1)
        l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size
        self.large = torch.zeros(4 * l2_bytes // 4, dtype=torch.int32, device="cuda")
        self.largest = torch.empty((), dtype=torch.int32, device="cuda")
        count = CALLS_MIN * max(rows * cols for rows, cols in SHAPES) + 8192
        values = torch.rand(count, device="cuda", generator=generator).mul_(2).sub_(1)
        self.pools = {name: values.to(dtype) for name, dtype in TYPES.items()}
        self.late = []
        self.record = {"version": torch.__version__, "device": torch.cuda.get_device_name(0), "cases": []}

    def inputs(self, name, shape):
        """Matrices for the reductions of a graph, each of them elsewhere."""
        pool, n = self.pools[name], shape[0] * shape[1]
        calls = max(CALLS_MIN, min(CALLS_MAX, COPIES_BYTES // (n * pool.element_size())))
        stride = (n + 63) // 64 * 64
        starts = [i * stride for i in range(calls) if i * stride + n <= pool.numel()]
        return [pool[start : start + n].view(shape) for start in starts]

    def one(self, entrant, case, shape, function):
        """Times and judges one case; gives back what is said of it."""
        op, name, per = case
        inputs = self.inputs(name, shape)
        times, outs, graph = replay(function, inputs, lambda: torch.amax(self.large, 0, out=self.largest))
        verdicts = [is_right(op, per, got, matrix) for got, matrix in list(zip(outs, inputs))[:2]]
        del outs, graph
        found = {
            "chapter": CONTEST.chapter, "contest": "alone", "entrant": entrant, "op": op, "type": name, "n": shape[0] * shape[1],
            "rows": shape[0], "cols": shape[1], "offsets": None, "cold_us": statistics.median(times),
            "range_us": [min(times), max(times)], "limit_us": None,
            "judged": len(verdicts) * (shape[0] if per == "row" else shape[1]), "ok": all(verdicts),
        }
        if per == "column":
            found["per"] = per
        self.record["cases"].append(found)
        return f"{statistics.median(times):.2f}" + ("" if all(verdicts) else " WRONG")

    def try_one(self, entrant, case, shape, until=1.0):
        """One operation costs the others nothing."""
        op, name, per = case
        what = f"{entrant} {op} {name} {per} {shape[0]}x{shape[1]}"
        if time.monotonic() - self.begin > until * self.seconds:
            self.late.append(what)
            return
        try:
            told = self.one(entrant, case, shape, OPS[op, per] if entrant == "torch" else compiled(op, per))
        except Exception as error:  # pylint: disable=broad-except
            torch.cuda.synchronize()
            told = f"{type(error).__name__}: {str(error)[:200]}"
        print(f"{time.monotonic() - self.begin:6.1f} s  {what}: {told}", file=sys.stderr, flush=True)
        self.save()

    def save(self):
        with open(self.out + ".new", "w", encoding="utf-8") as file:
            json.dump(self.record, file, indent=1)
            file.write("\n")
        os.replace(self.out + ".new", self.out)

    def all(self):
        for name in TYPES:
            for op, per in EAGER:
                for shape in SHAPES:
                    self.try_one("torch", (op, name, per), shape, 0.5)
            if name == "f32":
                for shape in CONTEST.shapes("drawn"):
                    self.try_one("torch", ("sum", name, "row"), shape, 0.5)
        for case in COMPILED:
            for shape in SHAPES:
                self.try_one("torch_compiled", case, shape)


def main(words):
    if len(words) not in (1, 3) or words[0].startswith("-") or words[1:2] not in ([], ["--seconds"]):
        sys.exit(__doc__)
    if not torch.cuda.is_available():
        sys.exit("torch_rows.py: torch is here, but sees no GPU")
    run = Run(words[0], float(words[2]) if len(words) == 3 else float("inf"))
    run.all()
    run.save()
    if run.late:
        print(f"the time is up; left out: {', '.join(run.late)}", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
