"""Penalties: terms of the objective beside the loss, each a function of one pass.

Each reads what it charges from a ``Forward`` and returns a 0-dim tensor. All work under
``torch.func.vmap``.
"""

import torch
from torch import Tensor

from claimbook.protocol import Forward, reads_taps

Number = float | Tensor


def logit_norm(forward: Forward, *, strength: Number, squared: bool = False) -> Tensor:
    """strength * mean over rows of the L2 norm of the logits, or of its square.

    Prieto et al. (2025), C.1, give no formula; this is the simplest reading.
    """
    logits = forward.logits
    if squared:
        return strength * (logits * logits).sum(dim=-1).mean()
    return strength * torch.linalg.vector_norm(logits, dim=-1).mean()


def l2(forward: Forward, *, strength: Number) -> Tensor:
    """strength / 2 * sum of squares of all parameters; gradient strength * w."""
    squares = [parameter.square().sum() for parameter in forward.params.values()]
    return strength / 2 * sum(squares[1:], squares[0])


@reads_taps
def radius(
    forward: Forward,
    *,
    strength: Number,
    site: str = "pre",
    target: Number | None = None,
    average: bool = False,
) -> Tensor:
    """strength * sum over taps of the mean over rows of (||h|| - target)^2 / width.

    Tiwari et al. (2026), eq. 1-2, whose target is sqrt(width), the default. Every tap
    counts that is named ``site`` or begins with ``site`` and a dot, as ``pre.0`` and
    ``pre.1`` of an MLP; eq. 3 is one penalty for ``attention_out`` and one for
    ``mlp_out``. The paper does not say whether layers are added up or averaged
    (``average``). The gradient is radial, and 0 at h = 0.
    """
    terms = [
        _OffRadius.apply(h, h.shape[-1] ** 0.5 if target is None else target)
        for h in _at(forward, site)
    ]
    total = sum(terms[1:], terms[0])
    return strength * (total / len(terms) if average else total)


def _at(forward: Forward, site: str) -> list[Tensor]:
    return [h for n, h in forward.taps.items() if f"{n}.".startswith(f"{site}.")]


class _OffRadius(torch.autograd.Function):
    """Mean over rows of (||h|| - target)^2 / width: (*rows, width) -> ()."""

    generate_vmap_rule = True

    @staticmethod
    def forward(h, target):
        length = torch.linalg.vector_norm(h, dim=-1)
        return (length - target).square().mean() / h.shape[-1]

    @staticmethod
    def setup_context(ctx, inputs, _output):
        h, ctx.target = inputs
        ctx.save_for_backward(h)

    @staticmethod
    def backward(ctx, grad):
        (h,) = ctx.saved_tensors
        length = torch.linalg.vector_norm(h, dim=-1)
        pull = 1 - ctx.target / torch.where(length > 0, length, ctx.target)
        return h * (2 / h.numel() * grad * pull)[..., None], None


@reads_taps
def activations(forward: Forward, *, strength: Number, site: str = "pre") -> Tensor:
    """strength * sum over taps of the mean over rows of ||h||^2 / width.

    MAN in table 2 of Tiwari et al. (2026), whose layers are not given.
    """
    squares = [h.square().mean() for h in _at(forward, site)]
    return strength * sum(squares[1:], squares[0])
