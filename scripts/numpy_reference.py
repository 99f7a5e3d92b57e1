"""Records what NumPy makes of awkward numbers, for the test that holds the course's references and error bounds against it.

Usage: python3 scripts/numpy_reference.py crates/lab/tests/numpy.json

Each case has an answer in long doubles, and, for floats, what NumPy computes in single or double precision: a right kernel in an
order of its own, which no bound may call wrong. Operations of chapters 11 and 12 are spelled out by their definitions.
"""

import json
import sys

import numpy as np

LONG = np.longdouble
NAN, INF = float("nan"), float("inf")
BIG, TINY, SMALL = 3.4028234663852886e38, 1e-45, 1e-42  # the largest float, the smallest, and one below the normal numbers
FLOATS = [
    [], [0.0], [-0.0], [-0.0, 0.0], [2.5], [NAN], [INF], [-INF], [TINY], [BIG], [-BIG],
    [1.0, NAN, 2.0], [1.0, INF, 2.0], [1.0, -INF, 2.0], [INF, -INF, 1.0], [INF, INF, INF], [-INF] * 4, [NAN, INF, -INF],
    [SMALL] * 5, [SMALL, -SMALL, TINY, 0.0], [1e-30] * 4, [1e-20, 1.0, -1e-20], [1e20] * 5, [2e19] * 7, [1e20, -1e20],
    [BIG / 4] * 3, [BIG / 4] * 8, [BIG / 2, BIG / 2, BIG / 4], [3e38, 3e38, -3e38], [3e38, -3e38, 3e38, -3e38],
    [1449.57] * 7, [1e6] * 7, [3e5 - 1, 3e5, 3e5 + 1, 3e5], [16777216.0, 1.0, -16777216.0, 1.0], [100000.0, 100001.0] * 4,
    [1.0, 1.0000001, 1.0, 1.0000001], [1e30, 1e-30, 1e30, 1e-30], [1e-30, 1e-30, 1e30], [1e30, 1e30, 0.0],
    [65504.0, 65504.0, -300.0], [6e-8, -6e-5, 3e-5, 6e-8],
    [0.5, -0.25, 3.0, -1.5, 2.0], [750.0, -750.0, 0.0, 1500.0], [-100.0, -200.0, -90.0], [88.0, 89.0, -104.0], [5.0, 5.0, -5.0, 1.0, 5.0],
]
WHOLES = [[], [0], [-1], [1, -1], [127, -128, 3], [2**31 - 1, 1, 5], [-2**31, -1], [65536, 65536, 3], [7, 7, -7, 0, 7], [2**31 - 1] * 4]
LONGS = WHOLES + [[2**63 - 1, 1], [-2**63, -1, 2], [2**62, 2**62, 1]]
NUMPY = {"i8": np.int8, "u8": np.uint8, "i16": np.int16, "i32": np.int32, "u32": np.uint32, "i64": np.int64,
         "f16": np.float16, "bf16": np.float32, "f32": np.float32, "f64": np.float64}
SUMS = {"i8": np.int64, "u8": np.int64, "i16": np.int64, "f16": np.float32, "bf16": np.float32}
MASK = 2**64 - 1
EPSILON = LONG(np.float32(1e-5))


def brain(x):
    """x rounded to what a bf16 holds, ties to even."""
    x = np.asarray(x, np.float32)
    bits = x.view(np.uint32)
    rounded = ((bits.astype(np.uint64) + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    return np.where(np.isnan(x), x, rounded)


def drawn(seed, i, ty):
    """The made-up weights and biases: split_mix64, as the lab's `input` draws numbers."""
    z = (seed * 0xD1342543DE82EF95 + (i + 1) * 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    z ^= z >> 31
    bits = {"f16": 10, "bf16": 7}.get(ty, 23)
    return (z >> (63 - bits)) / 2**bits - 1


def elements(values, ty):
    if ty == "bf16":
        return brain(values)
    return np.array(values, NUMPY[ty]) if "f" in ty else np.array([v & MASK for v in values], np.uint64).astype(NUMPY[ty])


def whole(op, x, y, ty):
    """Integers, by Python's own, which never overflow; wrapped as the kernel's accumulator is."""
    x, y = [int(v) for v in x], [int(v) for v in y]
    kind = SUMS.get(ty, NUMPY[ty])
    wrapped = lambda v: int(np.array([v & MASK], np.uint64).astype(kind)[0])
    fold = {"sum": lambda: wrapped(sum(x)), "prod": lambda: wrapped(int(np.prod(np.array(x, object)))),
            "sumsq": lambda: wrapped(sum(v * v for v in x)), "dot": lambda: wrapped(sum(a * b for a, b in zip(x, y))),
            "count": lambda: sum(v > 0 for v in x), "any": lambda: int(any(x)), "all": lambda: int(all(x)), "min": lambda: min(x), "max": lambda: max(x),
            "argmin": lambda: int(np.argmin(np.array(x, object))), "argmax": lambda: int(np.argmax(np.array(x, object))),
            "minmax": lambda: [min(x), max(x)], "and": lambda: int(np.bitwise_and.reduce(np.array(x, object))),
            "or": lambda: int(np.bitwise_or.reduce(np.array(x, object))), "xor": lambda: int(np.bitwise_xor.reduce(np.array(x, object)))}
    return fold[op]()


def real(op, x, y):
    """Floats, in the precision of x."""
    kind = x.dtype.type
    fold = {"sum": lambda: np.sum(x), "prod": lambda: np.prod(x), "sumsq": lambda: np.sum(x * x), "dot": lambda: np.sum(x * y),
            "l2_norm": lambda: np.sqrt(np.sum(x * x)), "any": lambda: int(np.any(x)), "all": lambda: int(np.all(x)),
            "count": lambda: int(np.count_nonzero(x > 0)), "min": lambda: np.fmin.reduce(x), "max": lambda: np.fmax.reduce(x),
            "minimum": lambda: np.min(x), "maximum": lambda: np.max(x), "minmax": lambda: [np.min(x), np.max(x)],
            "argmin": lambda: int(np.argmin(x)), "argmax": lambda: int(np.argmax(x)),
            "nanargmin": lambda: int(np.nanargmin(x)), "nanargmax": lambda: int(np.nanargmax(x)),
            "meanvar": lambda: [np.mean(x), np.var(x)]}
    return fold[op]()


def softmaxes(op, x, y, label, gradient):
    kind = x.dtype.type
    if op == "softmax_backward":
        return x * (y - np.sum(x * y))
    if op == "log_softmax_backward":
        return y - np.exp(x) * np.sum(y)
    largest = np.max(x)
    powers = np.exp(x - largest)
    total = np.sum(powers)
    if op == "logsumexp":
        return largest if np.isinf(largest) else largest + np.log(total)
    if op == "cross_entropy":
        return (largest - x[label]) + np.log(total)
    if op == "log_softmax":
        return (x - largest) - np.log(total)
    share = powers / total
    if op == "cross_entropy_backward":
        return (share - (np.arange(len(x)) == label).astype(kind)) * kind(gradient)
    return share


def norms(op, x, y, ty):
    kind = x.dtype.type
    weights = np.array([drawn(0x3E19, i, ty) for i in range(len(x))], kind)
    biases = np.array([drawn(0xB1A5, i, ty) for i in range(len(x))], kind)
    centred = "layer" in op
    if op.startswith("add"):
        x = np.float32(x) + np.float32(y)
        x = (brain(x) if ty == "bf16" else np.float16(x) if ty == "f16" else x).astype(kind)
    apart = x - np.mean(x) if centred else x
    scale = 1 / np.sqrt(np.mean(apart * apart) + kind(EPSILON))
    normal = apart * scale
    if "backward" in op:
        g = y * weights
        return scale * (g - (np.mean(g) if centred else 0) - normal * np.mean(g * normal))
    return normal * weights + (biases if centred else 0)


def text(value):
    if isinstance(value, (list, np.ndarray)):
        return [text(v) for v in value]
    return str(value) if isinstance(value, int) else repr(float(value)) if value.dtype != LONG else np.format_float_scientific(value)


def answer(op, values, other, ty, long):
    """NumPy's answer, `long` in long doubles, else in the accumulator's own precision; None where NumPy has none."""
    x, y = elements(values, ty), elements(other, ty)
    if "f" not in ty:
        return text(whole(op, x, y, ty)) if len(x) or op in ("sum", "prod", "sumsq", "dot", "count", "any", "all") else None
    kind = LONG if long else SUMS.get(ty, NUMPY[ty])
    x, y = x.astype(kind), y.astype(kind)
    try:
        if op in PLAIN:
            return text(real(op, x, y))
        if not len(x):
            return None
        return text(softmaxes(op, x, y, LABEL % len(x), GRADIENT) if op in EXPONENTIALS else norms(op, x, y, ty))
    except ValueError:
        return None


PLAIN = ["sum", "prod", "sumsq", "l2_norm", "dot", "count", "any", "all", "min", "max", "minimum", "maximum", "minmax", "argmin", "argmax", "nanargmin",
         "nanargmax", "meanvar"]
EXPONENTIALS = ["softmax", "log_softmax", "logsumexp", "cross_entropy", "softmax_backward", "log_softmax_backward", "cross_entropy_backward"]
NORMS = ["layer_norm", "rms_norm", "add_layer_norm", "add_rms_norm", "layer_norm_backward", "rms_norm_backward"]
BITS = ["and", "or", "xor"]
LABEL, GRADIENT = 1, 0.5


def operations(ty):
    if "f" not in ty:
        few = ["sum", "prod", "sumsq", "dot", "count", "any", "all", "min", "max", "minmax", "argmin", "argmax"]
        return few + BITS if ty in ("i32", "u32", "i64") else few
    return PLAIN + (EXPONENTIALS + NORMS if ty != "f64" else [])


def main():
    np.seterr(all="ignore")
    cases = []
    for ty in NUMPY:
        inputs = FLOATS if "f" in ty else LONGS if ty == "i64" else WHOLES
        for values in inputs:
            # The second array is the first in another order, halved so that not all products are squares.
            other = [v / 2 if "f" in ty else v for v in reversed(values)]
            results = {}
            for op in operations(ty):
                exact = answer(op, values, other, ty, True)
                short = answer(op, values, other, ty, False) if "f" in ty else None
                results[op] = [exact] if short is None else [exact, short]
            text_of = lambda all: [str(v) for v in (x.item() for x in elements(all, ty))]
            cases.append({"type": ty, "first": text_of(values), "other": text_of(other), "results": results})
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    with open(sys.argv[1], "w") as out:
        out.write('{"numpy": "%s", "label": %d, "gradient": %s, "cases": [\n%s\n]}\n' % (np.__version__, LABEL, GRADIENT, lines))


main()
