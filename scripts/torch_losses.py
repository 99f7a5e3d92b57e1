#!/usr/bin/env python3
"""Times the losses of torch, Liger and QuACK at vocabularies of language models, for the record of the library: forward a loss a row,
backward the gradients from what a forward pass has saved.

Usage: scripts/torch_losses.py OUT.json [--seconds SECONDS]

QuACK saves a logarithm a row. Torch saves the logarithms of all shares and makes the gradients from them; compiled torch is given a
logarithm a row. Liger has no backward pass by itself. The shapes are those of losses.json beside OUT.json, which
`compare losses` prints (crates/reduction/examples/compare); the method is that of scripts/torch_matrices.py.
"""

import json
import pathlib
import sys

import torch_matrices
import torch_softmax


class Losses(torch_softmax.Softmax):
    """At the shapes of our record, with what is saved."""

    quack = torch_softmax.QUACK | {
        "cross_entropy": lambda x, g, labels, gradients, logs: torch_softmax.cross_entropy_fwd(x, labels, return_lse=True),
    }

    def cells(self):
        record = pathlib.Path(sys.argv[1]).with_name("losses.json")
        if not record.exists():
            sys.exit(f"{record} is not there: `compare losses` prints it")
        with open(record, encoding="utf-8") as file:
            ours = [json.loads(line) for line in file][1:]  # behind the head
        for case in ours:
            cell = case["op"], case["type"], (case["rows"], case["cols"])
            yield from ((entrant, *cell) for entrant in torch_matrices.ENTRANTS if case["op"] in self.functions(entrant))


if __name__ == "__main__":
    torch_matrices.main(Losses(), __doc__)
