"""Times what torch, Liger and QuACK have for the operations of chapter 12 and writes the cases of a record.

Usage: python3 scripts/torch_norms.py OUT.json [--seconds SECONDS] [--lock LOCK]

As scripts/torch_matrices.py says. Backward the others are given what their forward pass has saved, means and scales; ours
finds them anew. QuACK's layer norm wants its weights in 32 bits, and gets them so.
"""

import torch
import torch.nn.functional as F

import contest
import torch_matrices

if torch_matrices.HAS_LIGER:
    from liger_kernel.ops.fused_add_rms_norm import fused_add_rms_norm_forward
    from liger_kernel.ops.layer_norm import layer_norm_backward, layer_norm_forward
    from liger_kernel.ops.rms_norm import rms_norm_backward, rms_norm_forward
    from liger_kernel.ops.utils import calculate_settings

if torch_matrices.HAS_QUACK:
    from quack.rmsnorm import layernorm_bwd, layernorm_fwd, rmsnorm_bwd, rmsnorm_fwd

EPSILON = 1e-5
TWO = ("add_layer_norm", "add_rms_norm", "layer_norm_backward", "rms_norm_backward")


def added(norm):
    def both(x, g, w, b, mean, scale):
        h = x + g
        return norm(h, None, w, b, mean, scale), h

    return both


def layer_norm(x, g, w, b, mean, scale):
    return F.layer_norm(x, x.shape[1:], w, b, EPSILON)


def rms_norm(x, g, w, b, mean, scale):
    return F.rms_norm(x, x.shape[1:], w, EPSILON)


def layer_norm_back(x, g, w, b, mean, scale):
    return torch.ops.aten.native_layer_norm_backward(g, x, list(x.shape[1:]), mean, scale, w, b, [True, True, True])


def rms_norm_back(x, g, w, b, mean, scale):
    return torch.ops.aten._fused_rms_norm_backward(g, x, list(x.shape[1:]), scale, w, [True, True])


EAGER = {
    "layer_norm": layer_norm, "rms_norm": rms_norm, "add_layer_norm": added(layer_norm), "add_rms_norm": added(rms_norm),
    "layer_norm_backward": layer_norm_back, "rms_norm_backward": rms_norm_back,
}


def layer_norm_formula(x, g, w, b, mean, scale):
    y, normal = g.float(), (x.float() - mean) * scale
    weighted = y * w.float()
    inner = weighted - weighted.mean(1, keepdim=True) - normal * (weighted * normal).mean(1, keepdim=True)
    return (scale * inner).to(x.dtype), (y * normal).sum(0).to(x.dtype), y.sum(0).to(x.dtype)


def rms_norm_formula(x, g, w, b, mean, scale):
    y, normal = g.float(), x.float() * scale
    weighted = y * w.float()
    inner = weighted - normal * (weighted * normal).mean(1, keepdim=True)
    return (scale * inner).to(x.dtype), (y * normal).sum(0).to(x.dtype)


COMPILED = EAGER | {"layer_norm_backward": layer_norm_formula, "rms_norm_backward": rms_norm_formula}

LIGER = {
    "layer_norm": lambda x, g, w, b, mean, scale: layer_norm_forward(x, w, b, EPSILON)[0],
    "rms_norm": lambda x, g, w, b, mean, scale: rms_norm_forward(x, w, EPSILON, 0.0, "llama", None)[0],
    "add_rms_norm": lambda x, g, w, b, mean, scale: fused_add_rms_norm_forward(x, g, w, EPSILON, 0.0, "llama")[:2],
    "layer_norm_backward": lambda x, g, w, b, mean, scale: layer_norm_backward(g, x, w, b, mean[:, 0], scale[:, 0]),
    "rms_norm_backward": lambda x, g, w, b, mean, scale: rms_norm_backward(
        g, x, w, scale[:, 0], 0.0, 0, *calculate_settings(x.shape[1]), False, None  # 0: as in Llama
    ),
} if torch_matrices.HAS_LIGER else {}

QUACK = {
    "layer_norm": lambda x, g, w, b, mean, scale: layernorm_fwd(x, w, b, EPSILON),
    "rms_norm": lambda x, g, w, b, mean, scale: rmsnorm_fwd(x, w, eps=EPSILON)[0],
    "add_rms_norm": lambda x, g, w, b, mean, scale: rmsnorm_fwd(x, w, residual=g, eps=EPSILON)[:2],
    "layer_norm_backward": lambda x, g, w, b, mean, scale: layernorm_bwd(x, w, g, scale[:, 0], mean[:, 0]),
    "rms_norm_backward": lambda x, g, w, b, mean, scale: rmsnorm_bwd(x, w, g, scale[:, 0])[:2],
} if torch_matrices.HAS_QUACK else {}


class Norms(torch_matrices.Contest):
    table = contest.of("ch12-norms")
    eager, compiled, liger, quack = EAGER, COMPILED, LIGER, QUACK
    two = TWO

    def more(self, entrant, op, x):
        dtype = torch.float32 if entrant == "quack" and op == "layer_norm" else x.dtype
        w, b = (torch.rand(x.shape[1], device=x.device).mul_(2).sub_(1).to(dtype) for _ in range(2))
        if "backward" not in op:
            return w, b, None, None
        wide = x.float()
        mean = wide.mean(1, keepdim=True) if op.startswith("layer") else torch.zeros_like(wide[:, :1])
        scale = torch.rsqrt((wide - mean).square_().mean(1, keepdim=True) + EPSILON)
        return w, b, mean, scale

    def right_of(self, entrant, op, call):
        x, g, w, b = (None if part is None else part.double() for part in call[:4])
        is_centred = "layer" in op
        if op.startswith("add"):
            h = (call[0] + call[1]).double()
            [of_norm] = self.right_of(entrant, op[4:], (h, None, *call[2:]))
            return [of_norm, (h, h.abs() * 1e-6)]
        mean = x.mean(1, keepdim=True) if is_centred else torch.zeros_like(x[:, :1])
        scale = torch.rsqrt((x - mean).square().mean(1, keepdim=True) + EPSILON)
        normal = (x - mean) * scale
        if g is None:
            bias = b if is_centred else torch.zeros_like(b)
            right = normal * w + bias
            # A normalised element that is near 0 is off by a share of its row's size.
            return [(right, (normal.abs() + 1) * w.abs() + bias.abs())]
        weighted = g * w
        mean_of_g = weighted.mean(1, keepdim=True) if is_centred else 0
        right = scale * (weighted - mean_of_g - normal * (weighted * normal).mean(1, keepdim=True))
        size = scale * (weighted.abs() + weighted.abs().mean(1, keepdim=True) * (1 + normal.abs()))
        of_weights = ((g * normal).sum(0), (g * (normal.abs() + 1)).abs().sum(0))
        both = [(right, size), of_weights]
        return both + [(g.sum(0), g.abs().sum(0))] if is_centred else both


if __name__ == "__main__":
    torch_matrices.main(Norms(), __doc__)
