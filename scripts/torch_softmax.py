"""Times what torch, Liger and QuACK have for the operations of chapter 11 and writes the cases of a record.

Usage: python3 scripts/torch_softmax.py OUT.json [--seconds SECONDS] [--lock LOCK]

As scripts/torch_matrices.py says. Of Liger's cross-entropy its kernel is launched without what waits for the host.
"""

import torch
import torch.nn.functional as F

import contest
import torch_matrices

if torch_matrices.HAS_LIGER:
    import triton
    from liger_kernel.ops.cross_entropy import MAX_FUSED_SIZE, liger_cross_entropy_kernel
    from liger_kernel.ops.softmax import _softmax_backward, _softmax_forward
    from liger_kernel.ops.utils import calculate_settings

if torch_matrices.HAS_QUACK:
    from quack.cross_entropy import cross_entropy_bwd, cross_entropy_fwd
    from quack.softmax import softmax_bwd, softmax_fwd

TWO = ("softmax_backward", "log_softmax_backward")


def nll_backward(x, labels, gradients):
    """What autograd does for a cross-entropy: from the logarithms that were saved."""
    weight = torch.zeros((), dtype=x.dtype, device=x.device)
    wide = torch.ops.aten.nll_loss_backward(gradients.to(x.dtype), x, labels, None, 0, -100, weight)
    return torch.ops.aten._log_softmax_backward_data(wide, x, 1, x.dtype)


# x: the matrix, or the results of the forward pass; g: the gradient of those; labels, gradients and the logarithms that a forward
# pass has saved: one a row.
EAGER = {
    "softmax": lambda x, g, labels, gradients, logs: torch.softmax(x, 1),
    "log_softmax": lambda x, g, labels, gradients, logs: torch.log_softmax(x, 1),
    "logsumexp": lambda x, g, labels, gradients, logs: torch.logsumexp(x, 1),
    "cross_entropy": lambda x, g, labels, gradients, logs: F.cross_entropy(x, labels, reduction="none"),
    "softmax_backward": lambda x, g, labels, gradients, logs: torch.ops.aten._softmax_backward_data(g, x, 1, x.dtype),
    "log_softmax_backward": lambda x, g, labels, gradients, logs: torch.ops.aten._log_softmax_backward_data(g, x, 1, x.dtype),
    "cross_entropy_backward": lambda x, g, labels, gradients, logs: nll_backward(x, labels, gradients),
}


def shares_backward(x, g):
    wide = x.float() * g.float()
    return (x.float() * (g.float() - wide.sum(1, keepdim=True))).to(x.dtype)


def logarithms_backward(x, g):
    return (g.float() - x.float().exp() * g.float().sum(1, keepdim=True)).to(x.dtype)


def loss_backward(x, labels, gradients, logs):
    is_label = torch.arange(x.shape[1], device=x.device) == labels[:, None]
    shares = (x.float() - logs[:, None]).exp()
    return ((shares - is_label.float()) * gradients[:, None]).to(x.dtype)


COMPILED = EAGER | {
    "softmax_backward": lambda x, g, labels, gradients, logs: shares_backward(x, g),
    "log_softmax_backward": lambda x, g, labels, gradients, logs: logarithms_backward(x, g),
    "cross_entropy_backward": lambda x, g, labels, gradients, logs: loss_backward(x, labels, gradients, logs),
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
    "softmax": lambda x, g, labels, gradients, logs: _softmax_forward(x)[0],
    "softmax_backward": lambda x, g, labels, gradients, logs: _softmax_backward(g, x, *calculate_settings(x.shape[1]), False),
    "cross_entropy": lambda x, g, labels, gradients, logs: liger_loss(x, labels),
} if torch_matrices.HAS_LIGER else {}

QUACK = {
    "softmax": lambda x, g, labels, gradients, logs: softmax_fwd(x),
    "softmax_backward": lambda x, g, labels, gradients, logs: softmax_bwd(g, x),
    "cross_entropy": lambda x, g, labels, gradients, logs: cross_entropy_fwd(x, labels),
    "cross_entropy_backward": lambda x, g, labels, gradients, logs: cross_entropy_bwd(x, labels, gradients, logs),
} if torch_matrices.HAS_QUACK else {}


def right_of(entrant, op, x, g, labels, gradients, _):
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


class Softmax(torch_matrices.Contest):
    table = contest.of("ch11-softmax")
    eager, compiled, liger, quack = EAGER, COMPILED, LIGER, QUACK
    two = TWO

    def more(self, entrant, op, x):
        labels = torch.randint(0, x.shape[1], x.shape[:1], device=x.device) if op.startswith("cross") else None
        gradients = torch.rand(x.shape[0], device=x.device) if op == "cross_entropy_backward" else None
        logs = torch.logsumexp(x.float(), 1) if op == "cross_entropy_backward" else None
        return labels, gradients, logs

    def right_of(self, entrant, op, call):
        return [right_of(entrant, op, *call)]


if __name__ == "__main__":
    torch_matrices.main(Softmax(), __doc__)
