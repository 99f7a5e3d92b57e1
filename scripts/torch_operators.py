"""Times what torch has for the operators of chapter 9, eager and compiled, and writes the cases of a record.

Usage: python3 scripts/torch_operators.py OUT.json [FIRST LAST [SECONDS]]

The method is that of scripts/torch_sum.py: CUDA graphs of several reductions, each of an array of its own, cold, the median
of the replays. Results are judged against the same operation in 64 bits. Compiled: torch.compile in its mode max-autotune-no-cudagraphs,
for powers of two alone, since each size is compiled anew. What a chapter keeps in 64 bits is asked for in 64 bits. After SECONDS
nothing more is begun, half of them for each kind.
"""

import json
import statistics
import sys
import time

import torch

REPLAYS = 9
WARM_UP = 2
CALLS_MIN, CALLS_MAX = 3, 64
COPIES_BYTES = 1 << 30
TYPES = {
    "f32": torch.float32, "i8": torch.int8, "bf16": torch.bfloat16, "i32": torch.int32, "f64": torch.float64,
    "i64": torch.int64, "f16": torch.float16, "u8": torch.uint8, "i16": torch.int16,
}
FLOATS = ["f16", "bf16", "f32", "f64"]
ALL = list(TYPES)


def held_in(x):
    return {torch.int8: torch.int64, torch.uint8: torch.int64, torch.int16: torch.int64,
            torch.float16: torch.float32, torch.bfloat16: torch.float32}.get(x.dtype, x.dtype)


OPS = {
    "sum": (ALL, lambda x, y: torch.sum(x, dtype=held_in(x))),
    "max": (ALL, lambda x, y: torch.amax(x)),
    "min": (ALL, lambda x, y: torch.amin(x)),
    "maximum": (FLOATS, lambda x, y: torch.amax(x)),
    "minimum": (FLOATS, lambda x, y: torch.amin(x)),
    "prod": (["i32", "i64", "f32", "f64"], lambda x, y: torch.prod(x, dtype=held_in(x))),
    "sumsq": (["i8", *FLOATS], lambda x, y: torch.sum(torch.square(x.to(held_in(x))))),
    "dot": (FLOATS, lambda x, y: torch.sum(x.to(held_in(x)) * y.to(held_in(y)))),
    "count": (["i8", "i32", "bf16", "f32"], lambda x, y: torch.count_nonzero(x > 0)),
    "argmax": (["i32", "i64", "bf16", "f32", "f64"], lambda x, y: torch.argmax(x)),
    "argmin": (["i32", "i64", "bf16", "f32", "f64"], lambda x, y: torch.argmin(x)),
    "minmax": (["i32", "bf16", "f32", "f64"], lambda x, y: torch.stack(torch.aminmax(x))),
    "meanvar": (FLOATS, lambda x, y: torch.stack(torch.var_mean(x, correction=0))),
}
# As one call, where there is one that is quicker than what one would write.
EAGER = {"dot": lambda x, y: torch.dot(x, y), "sumsq": lambda x, y: torch.dot(x, x) if x.is_floating_point() else OPS["sumsq"][1](x, y)}


def numbers(dtype, n, generator):
    if dtype.is_floating_point:
        return (torch.rand(n, device="cuda", generator=generator) * 2 - 1).to(dtype)
    info = torch.iinfo(dtype)
    return torch.randint(info.min, info.max, (n,), dtype=dtype, device="cuda", generator=generator)


def is_right(op, got, x, y):
    wide = torch.float64 if x.is_floating_point() else torch.int64
    if op in ("argmax", "argmin"):
        best = x.max() if op == "argmax" else x.min()
        return bool(x[got] == best)
    exact = OPS[op][1](x.to(wide), y.to(wide) if y is not None else None)
    if not x.is_floating_point() or op in ("max", "min", "maximum", "minimum", "minmax", "count"):
        return bool((got.to(exact.dtype) - exact).abs().max() == 0) or (not x.is_floating_point() and x.element_size() >= 4)
    scale = float(x.to(wide).abs().sum()) if op == "sum" else float(exact.abs().max()) + x.numel() * 1e-3
    loose = 1e-2 if x.element_size() == 2 else 1e-4
    return bool((got.double() - exact).abs().max() <= loose * max(scale, 1e-30))


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


def main(words):
    out, first, last = words[0], *(int(word) for word in words[1:3] or (10, 28))
    seconds = float(words[3] if len(words) > 3 else 2e9)
    begin = time.monotonic()
    l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size
    generator = torch.Generator(device="cuda").manual_seed(1)
    large = torch.zeros(4 * l2_bytes // 4, dtype=torch.int32, device="cuda")
    largest = torch.empty((), dtype=torch.int32, device="cuda")
    record = {"version": torch.__version__, "device": torch.cuda.get_device_name(0), "cases": []}

    def flush():
        torch.amax(large, 0, out=largest)

    def one(name, op, n, entrant, function, pool):
        size = pool.element_size() * (2 if op == "dot" else 1)
        calls = max(CALLS_MIN, min(CALLS_MAX, COPIES_BYTES // (n * size)))
        stride = (n + 63) // 64 * 64
        width = stride * (2 if op == "dot" else 1)
        starts = [i * width for i in range(calls) if (i + 1) * width <= pool.numel()]
        inputs = [(pool[s : s + n], pool[s + stride : s + stride + n] if op == "dot" else None) for s in starts]
        if not inputs:
            return
        times, outs = replay(function, inputs, flush)
        ok = all(is_right(op, got, *pair) for got, pair in list(zip(outs, inputs))[:2])
        record["cases"].append({
            "chapter": "ch09-operators", "contest": "alone", "entrant": entrant, "op": op, "type": name, "n": n, "offsets": None,
            "cold_us": statistics.median(times), "range_us": [min(times), max(times)], "limit_us": None, "judged": min(2, len(outs)), "ok": ok,
        })

    def all_of(entrant, wanted):
        until = begin + seconds / (2 if entrant == "torch" else 1)
        for name, dtype in TYPES.items():
            size = torch.empty((), dtype=dtype).element_size()
            pool = numbers(dtype, max(COPIES_BYTES // size, CALLS_MIN << last) + 8192, generator) if size < 8 else numbers(dtype, 3 * (1 << last) // 2 + 8192, generator)
            for op, (types, plain) in OPS.items():
                if name not in types or not wanted(op, name):
                    continue
                told = ""
                for lg in range(first, last + 1, 2 if entrant == "torch" else 6):
                    if time.monotonic() > until:
                        return
                    try:
                        if entrant == "torch":
                            function = EAGER.get(op, plain)
                        else:
                            torch._dynamo.reset()
                            function = torch.compile(plain, mode="max-autotune-no-cudagraphs", dynamic=False)
                        one(name, op, 1 << lg, entrant, function, pool)
                        told += f" {record['cases'][-1]['cold_us']:.2f}"
                    except Exception as error:  # one operation costs the others nothing
                        told += f" {type(error).__name__}"
                        torch.cuda.synchronize()
                print(f"{entrant} {op} {name}:{told}", file=sys.stderr, flush=True)
                with open(out, "w", encoding="utf-8") as file:
                    json.dump(record, file, indent=1)
            pool = None
            torch.cuda.empty_cache()

    all_of("torch", lambda op, name: True)
    headline = {("sum", "f32"), ("sum", "bf16"), ("sum", "i8"), ("maximum", "f32"), ("max", "i8"), ("argmax", "f32"), ("argmax", "bf16"),
                ("sumsq", "f32"), ("sumsq", "bf16"), ("dot", "f32"), ("dot", "bf16"), ("count", "f32"), ("count", "i8"), ("minmax", "f32"),
                ("meanvar", "f32"), ("meanvar", "bf16"), ("prod", "f32"), ("sum", "i32"), ("max", "i32"), ("argmin", "i32")}
    all_of("torch_compiled", lambda op, name: (op, name) in headline)


main(sys.argv[1:])
