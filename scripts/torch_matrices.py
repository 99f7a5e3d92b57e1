"""What scripts/torch_softmax.py and scripts/torch_norms.py have in common: how torch, Liger and QuACK are timed over matrices, and
how what they give is judged.

The method is that of scripts/torch_rows.py: CUDA graphs of several calls, each of a matrix of its own with results of its own,
cold, the median of the replays; the results of two calls are judged, element by element, against the same operation in 64
bits. Warm, where half of the L2 holds what a call reads and writes: a graph of calls that are all of one matrix. Eager: the function
of torch, or backward the one that autograd calls. Liger, QuACK: their kernels, launched as their functions do. Compiled:
torch.compile in its mode max-autotune-no-cudagraphs, for each shape anew.

Cells are shared out to several processes, because compiling takes longer than measuring. One of them has the GPU at a time: it
holds a lock while it replays, judges, or tries the variants of a compiled kernel, that of the file LOCK if one is named. In the order
of the chapter's contest.json: its shapes, then those of language models, then those drawn at random, and all of these again for the
types that it has last. After SECONDS no cell is begun. Each is written as it is
found, and a second run goes on where the first one stopped: what OUT.json holds is not timed again.
"""

import argparse
import fcntl
import importlib.metadata
import json
import multiprocessing
import os
import sys
import tempfile
import time

import torch

import torch_rows as rows

ENTRANTS = ("torch_compiled", "quack", "liger", "torch")
TYPES = rows.TYPES | {"f16": torch.float16}
PROCESSES_MAX = 14
WARM_CALLS = 64
L2_SHARE = 2


def version_of(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


HAS_LIGER = version_of("liger_kernel") is not None
HAS_QUACK = version_of("quack-kernels") is not None


class Contest:
    """What a chapter has: overridden by its script."""

    table = None  # contest.Contest
    eager, compiled, liger, quack = {}, {}, {}, {}
    two = ()  # operations of two matrices

    def more(self, entrant, op, x):
        """What a call is given beside its one or two matrices."""
        raise NotImplementedError

    def right_of(self, entrant, op, call):
        """In 64 bits, for each result: what is right, and the size that an error is a share of."""
        raise NotImplementedError

    def is_right(self, entrant, op, got, call):
        loose = {torch.float32: 1e-4, torch.float16: 4e-3}.get(call[0].dtype, 2e-2)
        got = got if isinstance(got, (tuple, list)) else (got,)
        pairs = zip(got, self.right_of(entrant, op, call))
        return all(bool(((x.double() - right).abs() <= loose * size).all()) for x, (right, size) in pairs)

    def functions(self, entrant):
        """By operation."""
        return {"torch": self.eager, "torch_compiled": self.compiled, "liger": self.liger, "quack": self.quack}[entrant]

    def function(self, entrant, op):
        function = self.functions(entrant)[op]
        if entrant != "torch_compiled":
            return function
        torch._dynamo.reset()
        return torch.compile(function, mode=rows.MODE, dynamic=False)

    def cells(self):
        """Entrant, operation, type and shape, what matters most first."""
        for shapes, tasks in self.table.stages():
            for shape in shapes:
                for op, name in tasks:
                    yield from ((entrant, op, name, shape) for entrant in ENTRANTS if op in self.functions(entrant))


class Gpu:
    """The right to use the GPU, which one process has at a time; taken again by its holder at no cost."""

    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8")  # pylint: disable=consider-using-with
        self.depth = 0

    def __enter__(self):
        if self.depth == 0:
            fcntl.flock(self.file, fcntl.LOCK_EX)
        self.depth += 1

    def __exit__(self, *_):
        self.depth -= 1
        if self.depth == 0:
            torch.cuda.synchronize()
            fcntl.flock(self.file, fcntl.LOCK_UN)


def bytes_of(values):
    return sum(bytes_of(x) if isinstance(x, (tuple, list)) else x.nbytes for x in values if x is not None)


def share_autotuning(gpu):
    """Makes trials of a compiled kernel's variants wait for the GPU; what compiles them does not."""
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner

    bench = CachingAutotuner.bench

    def alone(self, *args, **kwargs):
        with gpu:
            return bench(self, *args, **kwargs)

    CachingAutotuner.bench = alone


class Worker:
    """One process, which takes cells until none is left."""

    def __init__(self, contest, lock):
        self.contest, self.gpu = contest, Gpu(lock)
        share_autotuning(self.gpu)
        torch.manual_seed(os.getpid())
        with self.gpu:
            self.l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size
            self.large = torch.zeros(4 * self.l2_bytes // 4, dtype=torch.int32, device="cuda")
            self.largest = torch.empty((), dtype=torch.int32, device="cuda")

    def call(self, entrant, op, name, shape):
        """Matrices of numbers from -8 to 8, and what goes with them."""
        two = op in self.contest.two
        x, g = (
            torch.rand(shape, device="cuda").mul_(16).sub_(8).to(TYPES[name]) if i == 0 or two else None for i in range(2)
        )
        return x, g, *self.contest.more(entrant, op, x)

    def calls(self, entrant, op, name, shape):
        """What each call of a graph is given, each of it elsewhere."""
        arrays = 2 if op in self.contest.two else 1
        bytes_each = arrays * shape[0] * shape[1] * TYPES[name].itemsize
        most = max(rows.CALLS_MIN, min(rows.CALLS_MAX, rows.COPIES_BYTES // bytes_each))
        return [self.call(entrant, op, name, shape) for _ in range(most)]

    def cell(self, entrant, op, name, shape):
        """The case of a record."""
        function = self.contest.function(entrant, op)
        if entrant in ("torch_compiled", "quack"):  # compiled here, beside what others measure
            with self.gpu:
                call = self.call(entrant, op, name, shape)
            function(*call)
            del call
        with self.gpu:
            calls = self.calls(entrant, op, name, shape)
            flush = lambda: torch.amax(self.large, 0, out=self.largest)  # noqa: E731
            times, outs, graph = rows.replay(lambda call: function(*call), calls, flush)
            judged = list(zip(outs, calls))[:2]
            is_right = all(self.contest.is_right(entrant, op, got, call) for got, call in judged)
            warm = None
            if L2_SHARE * bytes_of((calls[0], outs[0] if isinstance(outs[0], (tuple, list)) else outs[:1])) <= self.l2_bytes:
                warm = rows.statistics.median(rows.replay(lambda call: function(*call), calls[:1] * WARM_CALLS)[0])
            del outs, graph, calls
            count = len(judged)
            del judged
            torch.cuda.empty_cache()
        return {
            "chapter": self.contest.table.chapter, "contest": "alone", "entrant": entrant, "op": op, "type": name,
            "n": shape[0] * shape[1], "rows": shape[0], "cols": shape[1], "offsets": None,
            "cold_us": rows.statistics.median(times), "range_us": [min(times), max(times)], "limit_us": None,
            "judged": count * shape[0], "ok": is_right,
        } | ({} if warm is None else {"warm_us": warm})


def work(contest, lock, cells, until, found):
    """In a process of its own. `cells` are shared; `found` takes what each has given."""
    worker = None
    while time.time() < until:
        try:
            cell = cells.get_nowait()
        except Exception:  # pylint: disable=broad-except  # empty
            break
        begin = time.monotonic()
        try:
            worker = worker or Worker(contest, lock)
            case, told = worker.cell(*cell), None
        except Exception as error:  # pylint: disable=broad-except  # one cell costs the others nothing
            case, told = None, f"{type(error).__name__}: {str(error)[:200]}"
            if worker is not None:
                worker.gpu.depth = 0
                fcntl.flock(worker.gpu.file, fcntl.LOCK_UN)
                torch.cuda.empty_cache()
        found.put((cell, case, told, time.monotonic() - begin))
    found.put(None)


class Run:
    """What is found, of one chapter."""

    def __init__(self, contest, out, seconds, lock):
        self.contest, self.out, self.seconds, self.lock, self.begin = contest, out, seconds, lock, time.time()
        self.record = {
            "version": torch.__version__, "liger": version_of("liger_kernel"), "quack": version_of("quack-kernels"),
            "device": torch.cuda.get_device_name(0), "refused": [], "cases": [],
        }
        if os.path.exists(out):
            with open(out, encoding="utf-8") as file:
                before = json.load(file)
            if before["device"] != self.record["device"]:
                sys.exit(f"{out} is of an {before['device']}, and this is an {self.record['device']}: name another file")
            self.record["cases"], self.record["refused"] = before["cases"], before.get("refused", [])

    def left(self):
        key = lambda case: (case["entrant"], case["op"], case["type"], (case["rows"], case["cols"]))  # noqa: E731
        done = {key(case) for case in self.record["cases"]} | {
            (*refused["cell"][:3], tuple(refused["cell"][3])) for refused in self.record["refused"]
        }
        return [cell for cell in self.contest.cells() if cell not in done]

    def save(self):
        with open(self.out + ".new", "w", encoding="utf-8") as file:
            json.dump(self.record, file, indent=1)
            file.write("\n")
        os.replace(self.out + ".new", self.out)

    def all(self):
        cells = self.left()
        context = multiprocessing.get_context("spawn")
        count = max(1, min(PROCESSES_MAX, (os.cpu_count() or 2) - 2, len(cells)))
        waiting, found = context.Queue(), context.Queue()
        for cell in cells:
            waiting.put(cell)
        with tempfile.NamedTemporaryFile() as own:
            task = (self.contest, self.lock or own.name, waiting, self.begin + self.seconds, found)
            processes = [context.Process(target=work, args=task, daemon=True) for _ in range(count)]
            for process in processes:
                process.start()
            self.gather(found, count)
        done = len(cells) - len(self.left())
        print(f"{done} of {len(cells)} cells in {time.time() - self.begin:.0f} s by {count} processes", file=sys.stderr)
        waiting.cancel_join_thread()
        for process in processes:
            process.terminate()

    def gather(self, found, running):
        """Until every process has ended, or none says anything any more."""
        saved = time.time()
        while running:
            try:
                got = found.get(timeout=60)
            except Exception:  # pylint: disable=broad-except
                break
            if got is None:
                running -= 1
                continue
            (entrant, op, name, shape), case, told, seconds = got
            if case is not None:
                told = f"{case['cold_us']:.2f}" + ("" if case["ok"] else " WRONG")
                self.record["cases"].append(case)
            else:
                self.record["refused"].append({"cell": [entrant, op, name, shape], "why": told})
            at = time.time() - self.begin
            print(f"{at:6.1f} s  {entrant} {op} {name} {shape[0]}x{shape[1]}: {told} ({seconds:.1f} s)", file=sys.stderr, flush=True)
            if time.time() - saved > 5:
                self.save()
                saved = time.time()
        self.save()


def main(contest, usage):
    parser = argparse.ArgumentParser(usage=usage)
    parser.add_argument("out")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--lock")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit(f"{sys.argv[0]}: torch is here, but sees no GPU")
    run = Run(contest, options.out, options.seconds, options.lock)
    run.all()
    left = run.left()
    if left:
        entrant, op, name, shape = left[0]
        print(f"left out: {len(left)}, from {entrant} {op} {name} {shape[0]}x{shape[1]} on", file=sys.stderr)
