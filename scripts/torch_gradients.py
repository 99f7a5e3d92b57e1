#!/usr/bin/env python3
"""Times the norm of all gradients of a model of the size of GPT-2 by torch, as `clip_grad_norm_` finds it, and writes JSON.

Usage: python3 scripts/torch_gradients.py OUT.json

The arrays are those of the library's example `clock`. Each call is between two events, with a wait before it, as there; eager, and
captured into a graph, where torch's many launches cost the host nothing.
"""

import json
import statistics
import sys

import torch

WIDTH, ROUNDS = 768, 51


def parameters():
    layer = [3 * WIDTH * WIDTH, 3 * WIDTH, WIDTH * WIDTH, WIDTH, WIDTH, WIDTH, 4 * WIDTH * WIDTH, 4 * WIDTH, 4 * WIDTH * WIDTH, WIDTH]
    return [50257 * WIDTH, 1024 * WIDTH] + 12 * ([WIDTH, WIDTH] + layer) + [WIDTH, WIDTH]


def median_us(call):
    times = []
    for _ in range(ROUNDS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e3)
    return statistics.median(times)


def main():
    cases = []
    for name, ty in (("f32", torch.float32), ("bf16", torch.bfloat16)):
        arrays = [torch.zeros(n, dtype=ty, device="cuda") for n in parameters()]
        norm = lambda: torch.nn.utils.get_total_norm(arrays, foreach=True)
        norm()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            norm()
        for entrant, call in (("torch", norm), ("torch_graph", graph.replay)):
            elements = sum(map(torch.numel, arrays))
            cases.append({"entrant": entrant, "type": name, "arrays": len(arrays), "elements": elements, "us": median_us(call)})
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        json.dump({"torch": torch.__version__, "gradients": cases}, out)


main()
