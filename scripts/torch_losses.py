#!/usr/bin/env python3
"""Times the losses of torch, Liger and QuACK at vocabularies of language models, for the record of the library: forward a loss a row,
backward the gradients from what a forward pass has saved.

Usage: scripts/torch_losses.py OUT.json [--seconds SECONDS]

QuACK saves a logarithm a row. Torch saves the logarithms of all shares and makes the gradients from them; compiled torch is given a
logarithm a row. Liger has no backward pass by itself. The shapes are those of crates/reduction/examples/compare/losses.rs, the method is
that of scripts/torch_matrices.py.
"""

import torch

import torch_matrices
import torch_softmax

SHAPES = (
    (4096, 32_000),
    (4096, 128_256),
    (4096, 151_936),
    (2048, 256_000),
    (512, 32_000),
    (512, 128_256),
    (4096, 50_257),
    (512, 50_257),
    (256, 262_144),
)
OPS = ("cross_entropy", "cross_entropy_backward")


def with_logs(x, labels, gradients, logs):
    is_label = torch.arange(x.shape[1], device=x.device) == labels[:, None]
    shares = (x.float() - logs[:, None]).exp()
    return ((shares - is_label.float()) * gradients[:, None]).to(x.dtype)


class Losses(torch_softmax.Softmax):
    """At these shapes, with what is saved."""

    compiled = torch_softmax.COMPILED | {
        "cross_entropy_backward": lambda x, g, labels, gradients, logs: with_logs(x, labels, gradients, logs),
    }
    quack = torch_softmax.QUACK | {
        "cross_entropy": lambda x, g, labels, gradients, logs: torch_softmax.cross_entropy_fwd(x, labels, return_lse=True),
    }

    def cells(self):
        for shape in SHAPES:
            for op in OPS:
                for name in ("f32", "bf16"):
                    yield from ((entrant, op, name, shape) for entrant in torch_matrices.ENTRANTS if op in self.functions(entrant))


if __name__ == "__main__":
    torch_matrices.main(Losses(), __doc__)
