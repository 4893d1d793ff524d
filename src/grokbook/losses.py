"""Losses of Prieto et al. (2025) and Liu et al. (2026), each in a chosen precision.

    softmax CE      -log softmax(z)_y                               [eq. 1]
    StableMax CE    -log s(z_y) / sum_k s(z_k)                      [section 4]
    Taylor CE       the same with 1 + x + x^2/2 of z - min z        [eq. 20]
    exact CE        log(1 + sum_{k != y} exp(z_k - z_y))            (not in the paper)
    interventions   softmax CE of changed logits, or with another gradient at them:
                    projected, repaired, cut, unbalanced     [Liu, sections 3 and B]

Shapes: ``logits (*rows, classes)`` of any floating dtype, ``labels (*rows)`` int64.
Every loss is computed *and returned* in ``dtype``, mean included, because that
precision decides when an addend is absorbed; ``reduction`` is one of REDUCTIONS. All
work under ``torch.func.vmap`` and can be differentiated twice. ValueError for shapes
that do not fit and names that do not exist. A NaN logit makes the loss of its row and
its gradients NaN; a wrong logit of -inf is for softmax, exact and StableMax a class
that is not there. Not covered: class weights, ignored labels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from grokbook.errors import choose

if TYPE_CHECKING:
    from grokbook.shapes import Labels, Logits, Same

REDUCTIONS = ("mean", "sum", "none")


def _reduce(losses: Tensor, reduction: str) -> Tensor:
    choose("reduction", reduction, REDUCTIONS)
    if reduction == "mean":
        return losses.mean()
    return losses.sum() if reduction == "sum" else losses


def _is_label(logits: Tensor, labels: Tensor) -> Tensor:
    """Boolean (..., classes), true at the correct class."""
    if logits.shape[:-1] != labels.shape:
        raise ValueError(
            f"logits of shape {tuple(logits.shape)} need labels of shape "
            f"{tuple(logits.shape[:-1])}, but labels have {tuple(labels.shape)}."
        )
    classes = torch.arange(logits.shape[-1], device=logits.device)
    return labels.unsqueeze(-1) == classes


def _pick(values: Tensor, labels: Tensor) -> Tensor:
    """The entry of each row at its label: (..., classes), (...) -> (...)."""
    if values.device.type == "cuda" or values.shape[:-1] != labels.shape:
        # the backward pass of gather sorts on a GPU; _is_label refuses the shapes
        return torch.where(_is_label(values, labels), values, 0).sum(dim=-1)
    return values.gather(-1, labels.unsqueeze(-1)).squeeze(-1)


def softmax_cross_entropy(
    logits: Logits,
    labels: Labels,
    *,
    dtype: torch.dtype = torch.float32,
    smoothing: float | Tensor = 0.0,
    temperature: float | Tensor = 1.0,
    reduction: str = "mean",
) -> Tensor:
    """Softmax cross-entropy of ``logits / temperature`` (eq. 1), used in most figures.

    As in the official code. ``smoothing`` in [0, 1) moves that share of the target
    evenly over all classes. A 0-dim tensor may stand for either, unchecked.
    """
    if not isinstance(smoothing, Tensor) and not 0 <= smoothing < 1:
        raise ValueError(f"smoothing is {smoothing}, but it must lie in [0, 1).")
    if not isinstance(temperature, Tensor) and not temperature > 0:
        raise ValueError(f"temperature is {temperature}, but it must be positive.")
    if isinstance(temperature, Tensor) or temperature != 1:
        # before the cast down: a temperature of 1e5 is infinite in float16
        logits = logits.to(torch.promote_types(logits.dtype, dtype))
        if isinstance(temperature, Tensor):
            temperature = temperature.to(logits.dtype)
        logits = logits / temperature
    log_probs = logits.to(dtype).log_softmax(dim=-1)
    losses = -_pick(log_probs, labels)
    if isinstance(smoothing, Tensor) or smoothing != 0:
        if isinstance(smoothing, Tensor):
            smoothing = smoothing.to(dtype)
        losses = (1 - smoothing) * losses - smoothing * log_probs.mean(dim=-1)
    return _reduce(losses, reduction)


def exact_cross_entropy(
    logits: Logits,
    labels: Labels,
    *,
    dtype: torch.dtype = torch.float32,
    reduction: str = "mean",
) -> Tensor:
    """Softmax cross-entropy that does not collapse, the control of figures 1 and 8.

    log1p(sum_{k != y} exp(z_k - z_y)); zero only once exp underflows (gap 103 in
    float32, 745 in float64). The gradient of the correct logit is minus the sum of
    the others, so the class gradients always add to zero. Where another class leads
    by c, the sum is shifted by c: c + log1p(sum exp(z_k - z_y - c) + exp(-c) - 1).
    A gap beyond the largest finite number is clipped to it, without gradient.

    Gaps are rounded, so where the correct class trails by c the gradient of a row is
    off by eps * c, 6e-5 in float32 at c = 1,000; in float64 it never matters.
    """
    logits = logits.to(dtype)
    gaps = logits - _pick(logits, labels).unsqueeze(-1)
    gaps = gaps.masked_fill(_is_label(logits, labels), float("-inf"))
    # unlike clamp, this passes the gradient of a NaN on
    top = torch.finfo(dtype).max
    gaps = gaps.masked_fill_(gaps > top, top)
    # the shift cancels from the gradient, so it is a constant
    shift = gaps.detach().amax(dim=-1, keepdim=True).clamp(min=0)
    total = (gaps - shift).exp().sum(dim=-1, keepdim=True)
    losses = shift + torch.log1p(total + torch.expm1(-shift))
    return _reduce(losses.squeeze(-1), reduction)


class _StableMax(torch.autograd.Function):
    """s(x) with its derivative min(s, 1)^2, which no logit turns into NaN.

    One quotient gives both branches, bit for bit; the derivative is 1 above 0 and
    1 / (1 - x)^2 = s^2 below. Left to autograd, the loss takes five times as long.
    Differentiable twice, with 2 s^3 below 0 and 0 above.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        above, below = x.clamp(min=0), x.clamp(max=0)
        return above.add_(1).div_(below.neg_().add_(1))

    @staticmethod
    def setup_context(ctx: Any, _inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (s,) = ctx.saved_tensors
        slope = s.clamp(max=1)
        if s.dtype == torch.float16:  # its square is 0 below -4,000
            return slope * (slope * grad)
        if torch.is_grad_enabled():  # to be differentiated again
            return slope * slope * grad
        return slope.mul_(slope).mul_(grad)


def stablemax_transform(x: Same) -> Same:
    """s(x) = x + 1 for x >= 0, 1 / (1 - x) below; any shape."""
    return _StableMax.apply(x)


def stablemax_log_transform(x: Same) -> Same:
    """g(x) = sign(x) log(1 + |x|), so that StableMax(z) = softmax(g(z)) (Prop. 1)."""
    above, below = x.clamp(min=0), x.clamp(max=0)
    return torch.where(x >= 0, torch.log1p(above), -torch.log1p(-below))


def stablemax(logits: Logits, *, dtype: torch.dtype = torch.float64) -> Logits:
    """s(z_i) / sum_j s(z_j) over the classes, which a shift of the logits changes."""
    weights = stablemax_transform(logits.to(dtype))
    return weights / weights.sum(dim=-1, keepdim=True)


def _negative_log_share(weights: Tensor, labels: Tensor) -> Tensor:
    """-log(w_y / sum_k w_k) of each row: (..., classes), (...) -> (...).

    The reciprocal of a share below the smallest normal number, the first factor of its
    gradient, may overflow; there it is a difference of logarithms.
    """
    correct, total = _pick(weights, labels), weights.sum(dim=-1)
    shares = correct / total
    is_tiny = shares < torch.finfo(weights.dtype).tiny
    losses = -shares.masked_fill(is_tiny, 1).log()
    return torch.where(is_tiny, total.log() - correct.log(), losses)


def stablemax_cross_entropy(
    logits: Logits,
    labels: Labels,
    *,
    dtype: torch.dtype = torch.float64,
    reduction: str = "mean",
) -> Tensor:
    """-log StableMax(z)_y, of figures 1, 4, 6 and 7; float64 as in the official code.

    The loss is infinite where the sum of s(z) overflows, when logits reach the largest
    finite number of ``dtype``, and where the correct logit is -inf. At minus that
    number, alone in its batch, the loss is right and the gradient not finite.
    """
    weights = stablemax_transform(logits.to(dtype))
    return _reduce(_negative_log_share(weights, labels), reduction)


def taylor_cross_entropy(
    logits: Logits,
    labels: Labels,
    *,
    dtype: torch.dtype = torch.float64,
    detach_min: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """-log of Taylor-softmax (eq. 20): 1 + x + x^2/2 with x = z - min z, figure 11.

    The gradient flows through the minimum (the paper's implicit regularisation)
    unless ``detach_min``. Tied minima share their part of the gradient evenly. The
    squares of a row are added, so gaps reach the root of the largest number.
    """
    logits = logits.to(dtype)
    lowest = logits.amin(dim=-1, keepdim=True)
    x = logits - (lowest.detach() if detach_min else lowest)
    return _reduce(_negative_log_share(1 + x + x * (x * 0.5), labels), reduction)


def mean_squared_error(
    logits: Logits,
    labels: Labels,
    *,
    dtype: torch.dtype = torch.float32,
    reduction: str = "mean",
) -> Tensor:
    """Squared distance to the one-hot target, averaged over the classes, figure 13."""
    errors = logits.to(dtype) - _is_label(logits, labels).to(dtype)
    return _reduce((errors * errors).mean(dim=-1), reduction)


# The interventions: softmax CE, whose other options ``how`` they pass on.


def correct_logit_zeroed(
    logits: Logits, labels: Labels, *, dtype: torch.dtype = torch.float64, **how: Any
) -> Tensor:
    """Softmax CE with the correct logit multiplied by 0 (figure 8, appendix B.1).

    The softmax then sees z_y = 0, whatever it was: the loss value and the wrong-class
    gradients change as well. ``correct_logit_detached`` has no such side effect.
    """
    logits = logits.masked_fill(_is_label(logits, labels), 0)
    return softmax_cross_entropy(logits, labels, dtype=dtype, **how)


def correct_logit_detached(
    logits: Logits, labels: Labels, *, dtype: torch.dtype = torch.float64, **how: Any
) -> Tensor:
    """Softmax CE with its value kept and no gradient through the correct logit."""
    logits = torch.where(_is_label(logits, labels), logits.detach(), logits)
    return softmax_cross_entropy(logits, labels, dtype=dtype, **how)


def projected_cross_entropy(
    logits: Logits,
    labels: Labels,
    *,
    dtype: torch.dtype = torch.float32,
    forward: bool = False,
    **how: Any,
) -> Tensor:
    """Softmax CE whose gradient at the logits has its mean over classes taken away.

    The zero-sum projection of Liu et al. (2026), section 3: the value is that of
    ``softmax_cross_entropy``, bit for bit. With ``forward`` the logits lose their mean
    in the forward pass too, the other reading of "subtracting W_G" (section B.3).
    """
    mean = logits.mean(dim=-1, keepdim=True)
    # the difference is 0 in the forward pass and takes the mean away in the backward
    logits = logits - (mean if forward else mean - mean.detach())
    return softmax_cross_entropy(logits, labels, dtype=dtype, **how)


def repaired_cross_entropy(
    logits: Logits, labels: Labels, *, dtype: torch.dtype = torch.float32, **how: Any
) -> Tensor:
    """Softmax CE whose correct logit gets minus the sum of the other gradients.

    The value and the wrong-class gradients are those of ``softmax_cross_entropy``, bit
    for bit; what a collapsed softmax has lost is put back. Not in Liu et al. (2026),
    whose projection restores the sum of the gradients without the correct one.
    """
    correct = _pick(logits, labels).unsqueeze(-1)
    others = logits - (correct - correct.detach())
    logits = torch.where(_is_label(logits, labels), logits.detach(), others)
    return softmax_cross_entropy(logits, labels, dtype=dtype, **how)


def collapsed_cross_entropy(
    logits: Logits,
    labels: Labels,
    *,
    dtype: torch.dtype = torch.float64,
    bits: int = 24,
    **how: Any,
) -> Tensor:
    """Softmax CE without a gradient of correct logits that ``bits`` bits would lose.

    A collapse of the softmax on its own, without any other rounding: the correct logit
    of a row gets none once the others have less than 2^-bits of the probability. Not in
    Liu et al. (2026).
    """
    is_lost = _odds(logits, labels, dtype) < 2.0**-bits
    cut = is_lost.unsqueeze(-1) & _is_label(logits, labels)
    logits = torch.where(cut, logits.detach(), logits)
    return softmax_cross_entropy(logits, labels, dtype=dtype, **how)


def unbalanced_cross_entropy(
    logits: Logits,
    labels: Labels,
    *,
    dtype: torch.dtype = torch.float64,
    bits: int = 24,
    reduction: str = "mean",
) -> Tensor:
    """Softmax CE with a gradient of sum epsilon where ``collapsed_cross_entropy`` cuts.

    Every logit of such a row gets epsilon / K more, epsilon being its residual mass and
    K the number of classes: of a collapse, the part that ``projected_cross_entropy``
    takes away and nothing else. Not in Liu et al. (2026).
    """
    odds = _odds(logits, labels, dtype).detach()
    excess = torch.where(odds < 2.0**-bits, odds / (1 + odds), 0.0)
    mean = logits.to(dtype).mean(dim=-1)
    rows = softmax_cross_entropy(logits, labels, dtype=dtype, reduction="none")
    return _reduce(rows + excess * (mean - mean.detach()), reduction)


def _odds(logits: Tensor, labels: Tensor, dtype: torch.dtype) -> Tensor:
    """Probability of the wrong classes over that of the correct one: (*rows)."""
    gaps = (logits - _pick(logits, labels).unsqueeze(-1)).to(dtype)
    gaps = gaps.masked_fill(_is_label(logits, labels), float("-inf"))
    return gaps.exp().sum(dim=-1)


def clamped_cross_entropy(
    logits: Logits,
    labels: Labels,
    *,
    dtype: torch.dtype = torch.float32,
    depth: float | Tensor = 100.0,
    **how: Any,
) -> Tensor:
    """Softmax CE of logits raised to at least the largest minus ``depth``.

    Then no exponential underflows (Liu et al. 2026, section B.2.10). A raised logit has
    no gradient, and the maximum has none through the others.
    """
    logits = torch.maximum(logits, logits.detach().amax(dim=-1, keepdim=True) - depth)
    return softmax_cross_entropy(logits, labels, dtype=dtype, **how)
