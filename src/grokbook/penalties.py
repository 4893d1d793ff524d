"""Penalties: terms that training adds to the loss, each a function of one forward pass.

Each takes a `claimbook.protocol.Forward` of one network and returns a 0-dim tensor.
``strength`` is a number or a 0-dim tensor. All work under ``torch.func.vmap``. NaN in
what a penalty reads makes it NaN, and so does a mean over no rows.
"""

from functools import reduce

import torch
from torch import Tensor

from claimbook.errors import choose
from claimbook.protocol import Forward, reads_taps
from grokbook.losses import is_forward_mode

Number = float | Tensor


def logit_norm(forward: Forward, *, strength: Number, squared: bool = False) -> Tensor:
    """Return strength * the mean over rows of the L2 norm of the logits, or its square.

    The logits are (*rows, classes). The gradient of a row of zeros is 0. Prieto et al.
    (2025), C.1, give no formula; this is the simplest one.
    """
    logits = forward.logits
    if squared:
        return strength * (logits * logits).sum(dim=-1).mean()
    return strength * torch.linalg.vector_norm(logits, dim=-1).mean()


def l2(forward: Forward, *, strength: Number) -> Tensor:
    """Return strength / 2 * the sum of squares of all parameters, biases included.

    Its gradient in a parameter w is strength * w. Raises TypeError without parameters.
    """
    squares = (p.square().sum() for p in forward.params.values())
    return strength / 2 * reduce(torch.add, squares)


@reads_taps
def radius(
    forward: Forward,
    *,
    strength: Number,
    site: str = "pre",
    target: Number | None = None,
    average: bool = False,
) -> Tensor:
    """Return strength * the sum over taps of mean (||h|| - target)^2 / width.

    [Tiwari et al. 2026, eq. 1-2] The mean is over rows; h is the activation (*rows,
    width) at a tap, and ``target`` is sqrt(width) unless given. The taps are those
    named ``site`` and those that begin with ``site`` and a dot, such as ``pre.0`` and
    ``pre.1`` of an MLP. Eq. 3 is one such penalty for ``attention_out`` and one for
    ``mlp_out``. The paper does not say whether layers are added up or averaged, so
    ``average`` divides the sum by the number of taps. The gradient is along h, and 0 at
    h = 0. Raises UnknownName if the network has no such tap.
    """
    # torch makes a derivative that is written by hand 0 in forward mode
    radial_error = _radial_error if is_forward_mode() else _RadialError.apply
    terms = [
        radial_error(h, h.shape[-1] ** 0.5 if target is None else target)
        for h in _taps_at(forward, site)
    ]
    total = reduce(torch.add, terms)
    return strength * (total / len(terms) if average else total)


def _taps_at(forward: Forward, site: str) -> list[Tensor]:
    """Return the activations at the tap ``site`` and at all taps ``site.*``.

    Raises UnknownName if the network has no such tap.
    """
    at_site = [
        h for name, h in forward.taps.items() if f"{name}.".startswith(f"{site}.")
    ]
    if not at_site:
        # raises, as ``site`` is none of the first parts of the names
        first_parts = dict.fromkeys(name.partition(".")[0] for name in forward.taps)
        choose("site", site, first_parts)
    return at_site


def _radial_error(h: Tensor, target: Number) -> Tensor:
    """Return the mean over rows of (||h|| - target)^2 / width for h (*rows, width).

    The result is ().
    """
    length = torch.linalg.vector_norm(h, dim=-1)
    return (length - target).square().mean() / h.shape[-1]


class _RadialError(torch.autograd.Function):
    """``_radial_error`` with its derivative in h written out; the target has none.

    Autograd would go over h several times, and have NaN as second derivative at h = 0.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(h, target):
        return _radial_error(h, target)

    @staticmethod
    def setup_context(ctx, inputs, _output):
        h, ctx.target = inputs
        ctx.save_for_backward(h)

    @staticmethod
    def backward(ctx, grad):
        # f = sum over rows of (|h| - target)^2 / numel, as the mean over rows and the
        # division by the width are one over all entries; so
        # df/dh = 2 / numel (1 - target / |h|) h, and at h = 0 it is 0 whatever stands
        # for |h|: 1 does, as a division by 0 would make it NaN
        (h,) = ctx.saved_tensors
        length = torch.linalg.vector_norm(h, dim=-1)
        excess = 1 - ctx.target / torch.where(length > 0, length, 1)
        # the second is the target's
        entry_count = max(h.numel(), 1)  # without rows the gradient is empty
        return h * (2 / entry_count * grad * excess)[..., None], None


@reads_taps
def activations(forward: Forward, *, strength: Number, site: str = "pre") -> Tensor:
    """Return strength * the sum over taps of the mean over rows of ||h||^2 / width.

    This is MAN in table 2 of Tiwari et al. (2026), who do not say which layers it acts
    on. h and the taps of ``site`` are those of ``radius``. Raises UnknownName if the
    network has no such tap.
    """
    terms = (h.square().mean() for h in _taps_at(forward, site))
    return strength * reduce(torch.add, terms)
