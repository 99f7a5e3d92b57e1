"""Times torch's all-reduces over the GPUs of one machine: NCCL's, and one and two shots in symmetric memory.

Usage: torchrun --nproc-per-node GPUS scripts/torch_all_reduce.py OUT

Adds a line of JSON for each case to OUT, as examples/beside-nccl prints them. Graphs of calls are replayed behind work that lasts
until all ranks have launched theirs, and the time is that of the rank that began last. NVLink multicast stays off.
"""

import json
import os
import sys

os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
os.environ.setdefault("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1")

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symmetric_memory

BYTES_A_GRAPH = 64 << 20
CALLS_MAX = 200
BUSY_BYTES = 256 << 20
ROUNDS = 31
# Largest messages for which one shot is worth a trial, in bytes.
ONE_SHOT_MAX = 16 << 20


def entrants(array, out, group):
    """Names and calls on a symmetric array, the longest messages without one shot."""
    shots = torch.ops.symm_mem
    name = group.group_name
    calls = {"torch_nccl": lambda: dist.all_reduce(array)}
    if array.nbytes <= ONE_SHOT_MAX:
        calls["torch_one_shot"] = lambda: shots.one_shot_all_reduce_out(array, "sum", name, out)
    calls["torch_two_shot"] = lambda: shots.two_shot_all_reduce_(array, "sum", name)
    return calls


def is_right(name, call, array, out, rank, ranks):
    """One call on the numbers of the ranks; afterwards zeros, which sums in place leave as they are."""
    array.fill_(rank + 1)
    call()
    torch.cuda.synchronize()
    sums = out if name == "torch_one_shot" else array
    right = bool((sums == ranks * (ranks + 1) // 2).all())
    dist.barrier()
    array.zero_()
    return right


def captured(call, count):
    """A graph of calls, warmed up before."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="relaxed"):
        for _ in range(count):
            call()
    return graph


def times_us(graphs, count, busy):
    """Microseconds of a call, smallest, median and largest, in turns."""
    times = {name: [] for name in graphs}
    for turn in range(ROUNDS + 2):
        for name, graph in graphs.items():
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            dist.barrier()
            torch.cuda.synchronize()
            busy.zero_()
            begin.record()
            graph.replay()
            end.record()
            torch.cuda.synchronize()
            time = torch.tensor(begin.elapsed_time(end) * 1e3 / count, device="cuda")
            dist.all_reduce(time, op=dist.ReduceOp.MIN)
            if turn >= 2:
                times[name].append(time.item())
    ranges = {}
    for name, all_us in times.items():
        all_us.sort()
        ranges[name] = all_us[0], all_us[len(all_us) // 2], all_us[-1]
    return ranges


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    group = dist.group.WORLD
    busy = torch.empty(BUSY_BYTES, dtype=torch.uint8, device="cuda")
    lines = open(sys.argv[1], "a") if rank == 0 else None
    for dtype in (torch.float32, torch.bfloat16):
        for lg in [*range(10, 31, 2), 4]:
            n = (1 << lg) // dtype.itemsize
            # Zeros: sums in place stay what they are.
            array = symmetric_memory.empty(n, dtype=dtype, device=f"cuda:{rank}").zero_()
            symmetric_memory.rendezvous(array, group.group_name)
            count = max(4, min(BYTES_A_GRAPH // array.nbytes, CALLS_MAX))
            out = torch.empty_like(array)
            graphs, right = {}, {}
            for name, call in entrants(array, out, group).items():
                try:
                    right[name] = is_right(name, call, array, out, rank, dist.get_world_size())
                    graphs[name] = captured(call, count)
                except RuntimeError as error:
                    print(f"torch_all_reduce.py: {name}, {array.nbytes} bytes: {error}", file=sys.stderr)
            for name, (low, us, high) in times_us(graphs, count, busy).items():
                if lines is not None:
                    kind = {torch.float32: "f32", torch.bfloat16: "bf16"}[dtype]
                    case = {"entrant": name, "op": "sum", "type": kind, "n": n, "bytes": array.nbytes, "ranks": dist.get_world_size(), "us": us,
                            "range_us": [low, high], "wrong": 0 if right[name] else n}
                    print(json.dumps(case), file=lines, flush=True)
            del graphs, array, out
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
