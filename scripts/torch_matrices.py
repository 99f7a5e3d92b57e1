"""What scripts/torch_softmax.py and scripts/torch_norms.py have in common: how torch and Liger are timed over matrices, and how
what they give is judged.

The method is that of scripts/torch_rows.py: CUDA graphs of several calls, each of a matrix of its own with results of its own,
cold, the median of the replays; the results of two calls are judged, element by element, against the same operation in 64
bits. In the order of the chapter's contest.json, and for each of its tasks by SHAPES; what is
compiled by SHAPES first, those nearest to 4,096 columns before the others, so that every task has some.
Eager: the function of torch, or backward the one that autograd calls. Liger: its kernels, launched as its functions do. Compiled:
torch.compile in its mode max-autotune-no-cudagraphs, for each shape anew. After SECONDS nothing more is begun: the first third
of them is eager, then comes Liger up to a half. What the time is not enough for is not in the record.

--ahead compiles what the compiled ones need in several processes, as scripts/torch_operators.py does.
"""

import importlib.metadata
import math
import multiprocessing
import os
import sys
import tempfile
import time

import torch

import torch_operators
import torch_rows as rows

try:
    import liger_kernel  # noqa: F401  # pylint: disable=unused-import
    import triton  # noqa: F401  # pylint: disable=unused-import

    HAS_LIGER = True
except ImportError:
    HAS_LIGER = False


# Those of the commonest widths first.
BY_WIDTH = sorted(rows.SHAPES, key=lambda shape: abs(math.log2(shape[1] / 4096)))


class Contest:
    """What a chapter has: overridden by its script."""

    table = None  # contest.Contest
    eager, compiled, liger = {}, {}, {}
    two = ()  # operations of two matrices

    def more(self, op, name, x, g):
        """What a call is given beside its one or two matrices."""
        raise NotImplementedError

    def right_of(self, entrant, op, call):
        """In 64 bits, for each result: what is right, and the size that an error is a share of."""
        raise NotImplementedError

    def is_right(self, entrant, op, got, call):
        loose = 2e-2 if call[0].dtype == torch.bfloat16 else 1e-4
        got = got if isinstance(got, (tuple, list)) else (got,)
        pairs = zip(got, self.right_of(entrant, op, call))
        return all(bool(((x.double() - right).abs() <= loose * size).all()) for x, (right, size) in pairs)

    def function(self, entrant, op):
        """Nothing where there is none."""
        if entrant == "liger":
            return self.liger.get(op) if HAS_LIGER else None
        if entrant == "torch":
            return self.eager[op]
        torch._dynamo.reset()
        return torch.compile(self.compiled[op], mode=rows.MODE, dynamic=False)


def compile_ahead(task):
    """In a process of its own, which chooses among the kernels for itself alone."""
    contest, (op, name), shape = task
    x, g = (torch.rand(shape, device="cuda").to(rows.TYPES[name]) for _ in range(2))
    g = g if op in contest.two else None
    contest.function("torch_compiled", op)(x, g, *contest.more(op, name, x, g))
    torch.cuda.synchronize()


def ahead(contest, seconds):
    begin = time.monotonic()
    if "TRITON_CACHE_DIR" not in os.environ:
        sys.exit(f"{sys.argv[0]}: --ahead needs TRITON_CACHE_DIR, a folder that the run that times has too")
    tasks = [(contest, case, shape) for shape in BY_WIDTH for case in contest.table.tasks()]
    done = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        context = multiprocessing.get_context("spawn")
        pool = context.Pool(max(1, (os.cpu_count() or 2) - 2), torch_operators.own_cache, (folder,))
        for result in [pool.apply_async(compile_ahead, (task,)) for task in tasks]:
            try:
                result.get(max(0.0, begin + seconds - time.monotonic()))
                done += 1
            except multiprocessing.TimeoutError:
                break
            except Exception as error:  # pylint: disable=broad-except  # it says so again when it is timed
                print(f"{type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
        pool.terminate()
    print(f"{done} of {len(tasks)} compiled ahead in {time.monotonic() - begin:.0f} s", file=sys.stderr)


class Run(rows.Run):
    """What is found, of one chapter."""

    def __init__(self, contest, out, seconds):
        super().__init__(out, seconds)
        self.contest = contest
        count = 2 * rows.CALLS_MIN * max(a * b for a, b in rows.SHAPES) + 8192
        generator = torch.Generator(device="cuda").manual_seed(1)
        values = torch.rand(count, device="cuda", generator=generator).mul_(16).sub_(8)
        self.pools = {name: values.to(dtype) for name, dtype in rows.TYPES.items()}
        self.record["liger"] = importlib.metadata.version("liger_kernel") if HAS_LIGER else None

    def calls(self, op, name, shape):
        """What each call of a graph is given, each of it elsewhere."""
        pool, n = self.pools[name], shape[0] * shape[1]
        arrays = 2 if op in self.contest.two else 1
        most = max(rows.CALLS_MIN, min(rows.CALLS_MAX, rows.COPIES_BYTES // (arrays * n * pool.element_size())))
        stride = (n + 63) // 64 * 64
        calls = []
        for i in range(most):
            at = [(arrays * i + k) * stride for k in range(arrays)]
            if at[-1] + n > pool.numel():
                break
            x, g = [pool[a : a + n].view(shape) for a in at] + ([None] if arrays == 1 else [])
            calls.append((x, g, *self.contest.more(op, name, x, g)))
        return calls

    def one(self, entrant, case, shape, function):
        op, name = case
        calls = self.calls(op, name, shape)
        flush = lambda: torch.amax(self.large, 0, out=self.largest)  # noqa: E731
        times, outs, graph = rows.replay(lambda call: function(*call), calls, flush)
        judged = list(zip(outs, calls))[:2]
        is_right = all(self.contest.is_right(entrant, op, got, call) for got, call in judged)
        self.record["cases"].append({
            "chapter": self.contest.table.chapter, "contest": "alone", "entrant": entrant, "op": op, "type": name,
            "n": shape[0] * shape[1], "rows": shape[0], "cols": shape[1], "offsets": None,
            "cold_us": rows.statistics.median(times), "range_us": [min(times), max(times)], "limit_us": None,
            "judged": len(judged) * shape[0], "ok": is_right,
        })
        del outs, graph, calls, judged
        return f"{rows.statistics.median(times):.2f}" + ("" if is_right else " WRONG")

    def try_one(self, entrant, case, shape, until=1.0):
        op, name = case
        what = f"{entrant} {op} {name} {shape[0]}x{shape[1]}"
        if time.monotonic() - self.begin > until * self.seconds:
            self.late.append(what)
            return
        try:
            function = self.contest.function(entrant, op)
            if function is None:
                return
            told = self.one(entrant, case, shape, function)
        except Exception as error:  # pylint: disable=broad-except
            torch.cuda.synchronize()
            told = f"{type(error).__name__}: {str(error)[:200]}"
        print(f"{time.monotonic() - self.begin:6.1f} s  {what}: {told}", file=sys.stderr, flush=True)

    def all(self):
        for entrant, until in [("torch", 1 / 3), ("liger", 1 / 2)]:
            for case in self.contest.table.tasks():
                for shape in rows.SHAPES:
                    self.try_one(entrant, case, shape, until)
            self.save()
        for shape in BY_WIDTH:
            for case in self.contest.table.tasks():
                self.try_one("torch_compiled", case, shape)
            self.save()


def main(contest, usage):
    words = sys.argv[1:]
    if words[:1] == ["--ahead"] and len(words) == 2:
        ahead(contest, float(words[1]))
        return
    if len(words) not in (1, 3) or words[0].startswith("-") or words[1:2] not in ([], ["--seconds"]):
        sys.exit(usage)
    if not torch.cuda.is_available():
        sys.exit(f"{sys.argv[0]}: torch is here, but sees no GPU")
    run = Run(contest, words[0], float(words[2]) if len(words) == 3 else float("inf"))
    run.all()
    run.save()
    if run.late:
        print(f"the time is up; left out: {len(run.late)}, from {run.late[0]} on", file=sys.stderr)
