"""Records what NumPy says of extremes among NaNs, infinities, zeros and ties, for the tests of chapter 9.

Usage: python3 scripts/numpy_rules.py chapters/ch09-operators/tests/numpy.json
"""

import json
import random
import sys

import numpy as np

VALUES = [float("nan"), float("-inf"), float("inf"), 0.0, -0.0, 1.5, -1.5, 9.0]
OPERATORS = {
    "max": np.fmax.reduce, "min": np.fmin.reduce, "maximum": np.max, "minimum": np.min,
    "argmax": np.argmax, "argmin": np.argmin, "nanargmax": np.nanargmax, "nanargmin": np.nanargmin,
}


def inputs():
    yield from ([value] * count for value in VALUES for count in (1, 3, 40))
    yield from ([one, other] for one in VALUES for other in VALUES)
    draw = random.Random(9)
    for count in (5, 33, 100, 1027):
        for _ in range(6):
            few = draw.sample(VALUES, draw.randint(2, len(VALUES)))
            yield [draw.choice(few) for _ in range(count)]


def said(function, array):
    try:
        return str(function(array))
    except ValueError:  # NaNs alone, of which none is found
        return None


def is_trusted(name, numbers):
    """NumPy puts an infinity where a NaN is: of NaNs and that infinity alone, its documentation says, do not trust the index."""
    worst = {"nanargmax": float("-inf"), "nanargmin": float("inf")}.get(name)
    return worst is None or all(number != number for number in numbers) or any(number == number and number != worst for number in numbers)


cases = []
for numbers in inputs():
    # Both types have all of these numbers, and NumPy has one rule for both.
    results = {name: said(function, np.array(numbers)) for name, function in OPERATORS.items()}
    assert results == {name: said(function, np.array(numbers, np.float32)) for name, function in OPERATORS.items()}
    trusted = {name: result for name, result in results.items() if is_trusted(name, numbers)}
    cases.append({"input": [str(number) for number in numbers], **trusted})
with open(sys.argv[1], "w", encoding="utf-8") as file:
    file.write('{"numpy": "%s", "cases": [\n%s\n]}\n' % (np.__version__, ",\n".join(json.dumps(case) for case in cases)))
