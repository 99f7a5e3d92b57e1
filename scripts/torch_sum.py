"""Times torch.sum as `cargo course measure` times our kernels, and writes what its --torch reads.

Usage: python3 scripts/torch_sum.py OUT.json [FIRST LAST]

FIRST and LAST are logarithms of the number of elements, default 10 and 30. The method is that of the course: a CUDA graph
of several sums, each of an array of its own, replayed between events; before each replay, outside of the events, four
times the L2 is read; the median of the replays, divided by the sums. Warm: all sums read the same array, without that.
torch.sum of int32 is asked for an int32, as its default would sum in 64 bits. Each sum has a word of its own, which is
overwritten before each replay and judged after it.
"""

import json
import statistics
import sys

import torch

REPLAYS = 15
WARM_UP = 3
CALLS_MIN, CALLS_MAX = 3, 64
COPIES_BYTES = 1 << 30
TYPES = {"i32": torch.int32, "f32": torch.float32, "f64": torch.float64}


def numbers(dtype, n, generator):
    if dtype == torch.int32:
        return torch.randint(-(2**31), 2**31, (n,), dtype=dtype, device="cuda", generator=generator)
    return torch.rand(n, dtype=dtype, device="cuda", generator=generator) * 2 - 1


def bounds(values):
    """The exact sum, and what a sum in this type may be off by: nothing for integers."""
    pieces = values.split(1 << 26)
    if values.dtype == torch.int32:
        return sum(int(part.sum(dtype=torch.int64)) for part in pieces), 0.0
    exact = sum(float(part.sum(dtype=torch.float64)) for part in pieces)
    magnitude = sum(float(part.abs().sum(dtype=torch.float64)) for part in pieces)
    # What a path of additions through a full card explains.
    multiprocessors = torch.cuda.get_device_properties(0).multi_processor_count
    additions = values.numel() / (256 * multiprocessors) + 80
    return exact, additions * torch.finfo(values.dtype).eps / 2 * magnitude + 1e-9


def is_right(result, exact, bound):
    """A NaN is not."""
    return (int(result) - exact) % 2**32 == 0 if bound == 0.0 else abs(float(result) - exact) <= bound


def replay(inputs, flush):
    """Times of one sum, a value for each replay, and the sums of each replay; `flush` runs before each, if it is given."""
    dtype = inputs[0].dtype
    torch.cuda.synchronize()  # the numbers were made on another stream
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        outs = torch.empty(len(inputs), dtype=dtype, device="cuda")
        for _ in range(WARM_UP):
            torch.sum(inputs[0], dim=0, dtype=dtype, out=outs[0])
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for i, values in enumerate(inputs):
                torch.sum(values, dim=0, dtype=dtype, out=outs[i])
        pairs, kept = [], []
        for turn in range(WARM_UP + REPLAYS):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            outs.view(torch.uint8).fill_(0xFF)
            if flush is not None:
                flush()
            begin.record(stream)
            graph.replay()
            end.record(stream)
            if turn >= WARM_UP:
                pairs.append((begin, end))
                kept.append(outs.clone())
        stream.synchronize()
    times = [begin.elapsed_time(end) * 1000 / len(inputs) for begin, end in pairs]
    return times, [sums.tolist() for sums in kept]


def case(contest, name, n, inputs, flush, known):
    times, kept = replay(inputs, flush)
    verdicts = [is_right(result, *known[values.data_ptr()]) for sums in kept for result, values in zip(sums, inputs)]
    time = "warm_us" if contest == "warm" else "cold_us"
    return {
        "chapter": "ch08-cooperative", "contest": contest, "entrant": "torch", "op": "sum", "type": name, "n": n,
        "offsets": None, "cold_us": None, time: statistics.median(times), "range_us": [min(times), max(times)],
        "limit_us": None, "judged": len(verdicts), "ok": all(verdicts),
    }


def cases(name, n, pool, flush, l2_bytes):
    bytes_ = n * pool.element_size()
    calls = max(CALLS_MIN, min(CALLS_MAX, COPIES_BYTES // bytes_))
    stride = (n + 63) // 64 * 64
    inputs = [pool[i * stride : i * stride + n] for i in range(calls) if i * stride + n <= pool.numel()]
    known = {values.data_ptr(): bounds(values) for values in inputs}
    yield case("alone", name, n, inputs, flush, known)
    if 2 * bytes_ <= l2_bytes:
        yield case("warm", name, n, inputs[:1] * 64, None, known)


def main(words):
    if len(words) not in (1, 3) or words[0].startswith("-"):
        sys.exit(__doc__)
    out, first, last = words[0], *(int(word) for word in words[1:] or (10, 30))
    if not torch.cuda.is_available():
        sys.exit("torch_sum.py: torch is here, but sees no GPU")
    l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size
    generator = torch.Generator(device="cuda").manual_seed(1)
    # Read and not written: a maximum of 32-bit words, the fastest of torch's readers that keeps nothing.
    large = torch.zeros(4 * l2_bytes // 4, dtype=torch.int32, device="cuda")
    largest = torch.empty((), dtype=torch.int32, device="cuda")
    record = {"version": torch.__version__, "device": torch.cuda.get_device_name(0), "cases": []}
    for name, dtype in TYPES.items():
        size = torch.empty((), dtype=dtype).element_size()
        n_max = max(CALLS_MIN * ((1 << last) + 64), COPIES_BYTES // size)
        try:
            pool = torch.empty(n_max, dtype=dtype, device="cuda")
            for part in pool.split(1 << 27):
                part.copy_(numbers(dtype, part.numel(), generator))
            for lg in range(first, last + 1):
                found = list(cases(name, 1 << lg, pool, lambda: torch.amax(large, 0, out=largest), l2_bytes))
                record["cases"] += found
                print(f"torch {name} 2^{lg}: {found[0]['cold_us']:.2f} us, ok {found[0]['ok']}", file=sys.stderr)
        except RuntimeError as error:  # a type or a size that this card has no room for costs the others nothing
            print(f"torch_sum.py: {name}: {error}", file=sys.stderr)
        pool = None
        torch.cuda.empty_cache()
    with open(out, "w", encoding="utf-8") as file:
        json.dump(record, file, indent=1)
        file.write("\n")


main(sys.argv[1:])
