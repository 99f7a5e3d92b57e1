"""Times what torch and Liger have for the operations of chapter 11 and writes the cases of a record.

Usage: python3 scripts/torch_softmax.py OUT.json [--seconds SECONDS]
       python3 scripts/torch_softmax.py --ahead SECONDS

The method is that of scripts/torch_rows.py: CUDA graphs of several calls, each of a matrix of its own with results of its own,
cold, the median of the replays; the results of two calls are judged, element by element, against the same operation in 64
bits. In the order of TASKS, which is that of `cargo course measure --parts softmax`, and for each by SHAPES. Eager: the function
of torch, or backward the one that autograd calls. Liger: its kernels, launched as its functions do, but for what waits for the
host, where a graph cannot. Compiled: torch.compile in its mode max-autotune-no-cudagraphs, for each shape anew. After SECONDS
nothing more is begun: the first quarter of them is eager, then comes Liger up to a third. What the time is not enough for is
not in the record.

--ahead compiles what the compiled ones need in several processes, as scripts/torch_operators.py does.
"""

import multiprocessing
import os
import sys
import tempfile
import time

import torch
import torch.nn.functional as F

import torch_operators
import torch_rows as rows

try:
    import liger_kernel
    import triton
    from liger_kernel.ops.cross_entropy import MAX_FUSED_SIZE, liger_cross_entropy_kernel
    from liger_kernel.ops.softmax import _softmax_backward, _softmax_forward
    from liger_kernel.ops.utils import calculate_settings
except ImportError:
    liger_kernel = None

CHAPTER = "ch11-softmax"
# As in crates/course/src/measure/softmax.rs.
TASKS = [
    ("softmax", "f32"), ("softmax", "bf16"), ("cross_entropy", "f32"), ("softmax_backward", "f32"), ("logsumexp", "f32"),
    ("cross_entropy", "bf16"), ("softmax_backward", "bf16"), ("cross_entropy_backward", "bf16"), ("log_softmax", "f32"),
    ("cross_entropy_backward", "f32"), ("logsumexp", "bf16"), ("log_softmax", "bf16"), ("log_softmax_backward", "f32"),
    ("log_softmax_backward", "bf16"),
]
TWO = ("softmax_backward", "log_softmax_backward")
PER_ROW = ("logsumexp", "cross_entropy")


def nll_backward(x, labels, gradients):
    """What autograd does for a cross-entropy: from the logarithms that were saved."""
    weight = torch.zeros((), dtype=x.dtype, device=x.device)
    wide = torch.ops.aten.nll_loss_backward(gradients.to(x.dtype), x, labels, None, 0, -100, weight)
    return torch.ops.aten._log_softmax_backward_data(wide, x, 1, x.dtype)


# x: the matrix, or the results of the forward pass; g: the gradient of those; labels and gradients: one a row.
EAGER = {
    "softmax": lambda x, g, labels, gradients: torch.softmax(x, 1),
    "log_softmax": lambda x, g, labels, gradients: torch.log_softmax(x, 1),
    "logsumexp": lambda x, g, labels, gradients: torch.logsumexp(x, 1),
    "cross_entropy": lambda x, g, labels, gradients: F.cross_entropy(x, labels, reduction="none"),
    "softmax_backward": lambda x, g, labels, gradients: torch.ops.aten._softmax_backward_data(g, x, 1, x.dtype),
    "log_softmax_backward": lambda x, g, labels, gradients: torch.ops.aten._log_softmax_backward_data(g, x, 1, x.dtype),
    "cross_entropy_backward": lambda x, g, labels, gradients: nll_backward(x, labels, gradients),
}


def shares_backward(x, g):
    wide = x.float() * g.float()
    return (x.float() * (g.float() - wide.sum(1, keepdim=True))).to(x.dtype)


def logarithms_backward(x, g):
    return (g.float() - x.float().exp() * g.float().sum(1, keepdim=True)).to(x.dtype)


def loss_backward(x, labels, gradients):
    is_label = torch.arange(x.shape[1], device=x.device) == labels[:, None]
    return ((torch.softmax(x.float(), 1) - is_label.float()) * gradients[:, None]).to(x.dtype)


COMPILED = EAGER | {
    "softmax_backward": lambda x, g, labels, gradients: shares_backward(x, g),
    "log_softmax_backward": lambda x, g, labels, gradients: logarithms_backward(x, g),
    "cross_entropy_backward": lambda x, g, labels, gradients: loss_backward(x, labels, gradients),
}


def liger_loss(x, labels):
    """As cross_entropy_forward launches it, without counting the labels, for which the host would wait."""
    count, cols = x.shape
    loss = torch.empty(count, dtype=x.dtype, device=x.device)
    liger_cross_entropy_kernel[(count,)](
        X_ptr=x, X_stride=x.stride(0), Y_ptr=labels, Y_stride=1, weight_ptr=None, loss_ptr=loss, z_loss_ptr=None,
        loss_stride=1, token_accuracy_ptr=None, token_accuracy_stride=0, predicted_tokens_ptr=None,
        predicted_tokens_stride=0, n_cols=cols, n_non_ignore=count, sum_non_ignore_weight=count, ignore_index=-100,
        weight_sum=0.0, lse_square_scale=0.0, label_smoothing=0.0, reduction="none", softcap=None, RETURN_Z_LOSS=False,
        RETURN_TOKEN_ACCURACY=False, RETURN_PREDICTED_TOKENS=False,
        BLOCK_SIZE=min(MAX_FUSED_SIZE, triton.next_power_of_2(cols)), HAS_WEIGHT=False, HAS_SOFTCAPPING=False,
        HAS_GRADIENTS=False, num_warps=32,
    )
    return loss


LIGER = {
    "softmax": lambda x, g, labels, gradients: _softmax_forward(x)[0],
    "softmax_backward": lambda x, g, labels, gradients: _softmax_backward(g, x, *calculate_settings(x.shape[1]), False),
    "cross_entropy": lambda x, g, labels, gradients: liger_loss(x, labels),
}


def right_of(entrant, op, x, g, labels, gradients):
    """In 64 bits: what is right, and the size that an error is a share of."""
    x = x.double()
    if op == "softmax":
        right = torch.softmax(x, 1)
        return right, right + 1e-30
    if op == "log_softmax":
        right = torch.log_softmax(x, 1)
        return right, right.abs() + 1
    if op == "logsumexp":
        right = torch.logsumexp(x, 1)
        return right, right.abs() + 1
    if op == "cross_entropy":
        right = F.cross_entropy(x, labels, reduction="none")
        return right, right.abs() + 1
    if op == "softmax_backward":
        g = g.double()
        return x * (g - (x * g).sum(1, keepdim=True)), x.abs() * (g.abs() + (x * g).abs().sum(1, keepdim=True))
    if op == "log_softmax_backward":
        g = g.double()
        return g - x.exp() * g.sum(1, keepdim=True), g.abs() + x.exp() * g.abs().sum(1, keepdim=True)
    is_label = (torch.arange(x.shape[1], device=x.device) == labels[:, None]).double()
    shares = x.exp() if entrant == "torch" else torch.softmax(x, 1)  # eager, from what was saved
    return (shares - is_label) * gradients.double()[:, None], (shares + is_label) * gradients.double().abs()[:, None]


def is_right(entrant, op, got, call):
    loose = 2e-2 if call[0].dtype == torch.bfloat16 else 1e-4
    right, size = right_of(entrant, op, *call)
    return bool(((got.double() - right).abs() <= loose * size).all())


def tried(entrant, op):
    """The function, or nothing where there is none."""
    if entrant == "liger":
        return LIGER.get(op) if liger_kernel else None
    if entrant == "torch":
        return EAGER[op]
    torch._dynamo.reset()
    return torch.compile(COMPILED[op], mode=rows.MODE, dynamic=False)


def compile_ahead(task):
    """In a process of its own, which chooses among the kernels for itself alone."""
    (op, name), shape = task
    x, g = (torch.rand(shape, device="cuda").to(rows.TYPES[name]) for _ in range(2))
    labels = torch.zeros(shape[0], dtype=torch.int64, device="cuda")
    tried("torch_compiled", op)(x, g if op in TWO else None, labels, torch.rand(shape[0], device="cuda"))
    torch.cuda.synchronize()


def ahead(seconds):
    begin = time.monotonic()
    if "TRITON_CACHE_DIR" not in os.environ:
        sys.exit("torch_softmax.py: --ahead needs TRITON_CACHE_DIR, a folder that the run that times has too")
    tasks = [(case, shape) for case in TASKS for shape in rows.SHAPES]
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
                print(f"torch_softmax.py: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
        pool.terminate()
    print(f"{done} of {len(tasks)} compiled ahead in {time.monotonic() - begin:.0f} s", file=sys.stderr)


class Run(rows.Run):
    """What is found, of this chapter."""

    def __init__(self, out, seconds):
        super().__init__(out, seconds)
        count = 2 * rows.CALLS_MIN * max(a * b for a, b in rows.SHAPES) + 8192
        generator = torch.Generator(device="cuda").manual_seed(1)
        values = torch.rand(count, device="cuda", generator=generator).mul_(16).sub_(8)
        self.pools = {name: values.to(dtype) for name, dtype in rows.TYPES.items()}

    def calls(self, op, name, shape):
        """What each call of a graph is given, each of it elsewhere."""
        pool, n = self.pools[name], shape[0] * shape[1]
        arrays = 2 if op in TWO else 1
        most = max(rows.CALLS_MIN, min(rows.CALLS_MAX, rows.COPIES_BYTES // (arrays * n * pool.element_size())))
        stride = (n + 63) // 64 * 64
        calls = []
        for i in range(most):
            at = [(arrays * i + k) * stride for k in range(arrays)]
            if at[-1] + n > pool.numel():
                break
            x, g = [pool[a : a + n].view(shape) for a in at] if arrays == 2 else (pool[at[0] : at[0] + n].view(shape), None)
            labels = torch.randint(0, shape[1], (shape[0],), device="cuda") if op.startswith("cross") else None
            gradients = torch.rand(shape[0], device="cuda") if op == "cross_entropy_backward" else None
            calls.append((x, g, labels, gradients))
        return calls

    def one(self, entrant, case, shape, function):
        op, name, _ = case
        calls = self.calls(op, name, shape)
        # On a hot path the labels are not checked either.
        times, outs, graph = rows.replay(
            lambda call: function(*call), calls, lambda: torch.amax(self.large, 0, out=self.largest)
        )
        verdicts = [is_right(entrant, op, got, call) for got, call in list(zip(outs, calls))[:2]]
        found = {
            "chapter": CHAPTER, "contest": "alone", "entrant": entrant, "op": op, "type": name, "n": shape[0] * shape[1],
            "rows": shape[0], "cols": shape[1], "offsets": None, "cold_us": rows.statistics.median(times),
            "range_us": [min(times), max(times)], "limit_us": None, "judged": sum(out.numel() for out in outs[:2]),
            "ok": all(verdicts),
        }
        del outs, graph, calls
        self.record["cases"].append(found)
        return f"{found['cold_us']:.2f}" + ("" if found["ok"] else " WRONG")

    def try_one(self, entrant, case, shape, until=1.0):
        op, name = case
        if entrant == "liger" and op not in LIGER:
            return
        what = f"{entrant} {op} {name} {shape[0]}x{shape[1]}"
        if time.monotonic() - self.begin > until * self.seconds:
            self.late.append(what)
            return
        try:
            function = tried(entrant, op)
            if function is None:
                return
            told = self.one(entrant, (op, name, "row"), shape, function)
        except Exception as error:  # pylint: disable=broad-except
            torch.cuda.synchronize()
            told = f"{type(error).__name__}: {str(error)[:200]}"
        print(f"{time.monotonic() - self.begin:6.1f} s  {what}: {told}", file=sys.stderr, flush=True)

    def all(self):
        for entrant, until in [("torch", 0.25), ("liger", 0.36), ("torch_compiled", 1.0)]:
            for case in TASKS:
                for shape in rows.SHAPES:
                    self.try_one(entrant, case, shape, until)
                self.save()


def main(words):
    if words[:1] == ["--ahead"] and len(words) == 2:
        ahead(float(words[1]))
        return
    if len(words) not in (1, 3) or words[0].startswith("-") or words[1:2] not in ([], ["--seconds"]):
        sys.exit(__doc__)
    if not torch.cuda.is_available():
        sys.exit("torch_softmax.py: torch is here, but sees no GPU")
    run = Run(words[0], float(words[2]) if len(words) == 3 else float("inf"))
    run.record["liger"] = getattr(liger_kernel, "__version__", "0.8.5") if liger_kernel else None
    run.all()
    run.save()
    if run.late:
        print(f"the time is up; left out: {len(run.late)}, from {run.late[0]} on", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
