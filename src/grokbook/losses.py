"""Losses of Prieto et al. (2025) and Liu et al. (2026), each in a chosen precision.

    softmax CE      -log softmax(z)_y                               [eq. 1]
    StableMax CE    -log s(z_y) / sum_k s(z_k)                      [section 4]
    Taylor CE       the same with 1 + x + x^2/2 of z - min z        [eq. 20]
    exact CE        log(1 + sum_{k != y} exp(z_k - z_y))            (not in the paper)
    interventions   softmax CE (``how``: its options) of changed logits, or with another
                    gradient: projected, repaired, cut, ...  [Liu, sections 3 and B]

Logits are (*rows, classes) of any floating dtype, labels (*rows) int64; the loss is a
number, or (*rows) where ``reduction`` is "none". It is computed *and returned* in
``dtype``, mean included: that precision decides when an addend is absorbed. All work
under ``torch.func.vmap`` and can be differentiated twice; a NaN logit makes a loss NaN.
"""

from typing import Any

import torch
from torch import Tensor, float32, float64

Dtype = torch.dtype
REDUCTIONS: dict[str, Any] = {"mean": torch.mean, "sum": torch.sum, "none": torch.clone}
BITS = 24  # of a float32, which a simulated collapse takes away


def on_gpu(x: Tensor) -> bool:  # which a mapped tensor's ``is_cuda`` may not say
    return x.device.type == "cuda"


def _is_label(logits: Tensor, labels: Tensor) -> Tensor:
    """Boolean (*rows, classes), true at the correct class."""
    classes = torch.arange(logits.shape[-1], device=logits.device)
    return labels.reshape(*logits.shape[:-1], 1) == classes


def pick(values: Tensor, labels: Tensor) -> Tensor:
    """The entry of each row at its label: (*rows); a label that is none is an error."""
    if on_gpu(values):  # NaN, no error: gather's backward pass would sort
        here = _is_label(values, labels)
        return torch.where(here, values, 0).sum(-1).where(here.any(-1), float("nan"))
    # reshape, since gather takes labels of fewer rows
    return values.gather(-1, labels.reshape(*values.shape[:-1], 1)).squeeze(-1)


def softmax_cross_entropy(
    logits: Tensor,
    labels: Tensor,
    *,
    dtype: Dtype = float32,
    smoothing: float | Tensor = 0.0,
    reduction: str = "mean",
) -> Tensor:
    """Softmax cross-entropy (eq. 1) as in the official code, used in most figures.

    ``smoothing``, a number or a 0-dim tensor in [0, 1), moves that share of the target
    evenly over all classes.
    """
    log_probs = logits.to(dtype).log_softmax(dim=-1)
    losses = -pick(log_probs, labels)
    if isinstance(smoothing, Tensor):
        smoothing = smoothing.to(dtype)
    if isinstance(smoothing, Tensor) or smoothing != 0:
        losses = (1 - smoothing) * losses - smoothing * log_probs.mean(dim=-1)
    return REDUCTIONS[reduction](losses)


def handmade_cross_entropy(
    logits: Tensor, labels: Tensor, *, dtype: Dtype = float32, reduction: str = "mean"
) -> Tensor:
    """Softmax cross-entropy of a log-softmax written out, without torch's own.

    z - max - log sum exp(z - max), differentiated step by step: its gradient is not
    that of torch's formula where the loss is 0 (Prieto et al. 2025, appendix I).
    """
    shifted = logits.to(dtype) - logits.to(dtype).amax(dim=-1, keepdim=True)
    log_probs = shifted - shifted.exp().sum(dim=-1, keepdim=True).log()
    return REDUCTIONS[reduction](-pick(log_probs, labels))


def exact_cross_entropy(
    logits: Tensor, labels: Tensor, *, dtype: Dtype = float32, reduction: str = "mean"
) -> Tensor:
    """Softmax cross-entropy that does not collapse, the control of figures 1 and 8.

    Zero only once exp underflows (gap 103 in float32, 745 in float64). Where another
    class leads by c, the sum is shifted: c + log1p(sum exp(z_k - z_y - c) + exp(-c) -
    1), and the gradient of the row off by eps * c, 6e-5 in float32 at c = 1,000.
    """
    leads = gaps(logits.to(dtype), labels)
    # the shift cancels from the gradient, so it is a constant
    shift = leads.detach().amax(dim=-1, keepdim=True).clamp(min=0)
    total = (leads - shift).exp().sum(dim=-1, keepdim=True)
    losses = shift + torch.log1p(total + torch.expm1(-shift))
    return REDUCTIONS[reduction](losses.squeeze(-1))


def gaps(logits: Tensor, labels: Tensor) -> Tensor:
    """z_k - z_y, and -inf at the label: (*rows, classes)."""
    leads = logits - pick(logits, labels).unsqueeze(-1)
    return leads.masked_fill(_is_label(logits, labels), float("-inf"))


class _StableMax(torch.autograd.Function):
    """s(x) with its derivative min(s, 1)^2, which no logit turns into NaN.

    One quotient gives both branches, bit for bit, and s^2 is 1 / (1 - x)^2 below 0.
    Left to autograd, the loss takes five times as long.
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
        slope = ctx.saved_tensors[0].clamp(max=1)
        if torch.is_grad_enabled():
            return slope * slope * grad
        return slope.mul_(slope).mul_(grad)  # 4 % of a small network's step


def stablemax_transform(x: Tensor) -> Tensor:
    """s(x) = x + 1 for x >= 0, 1 / (1 - x) below; any shape."""
    return _StableMax.apply(x)


def stablemax(logits: Tensor, *, dtype: Dtype = float64) -> Tensor:
    """s(z_i) / sum_j s(z_j) over the classes, which a shift of the logits changes."""
    weights = stablemax_transform(logits.to(dtype))
    return weights / weights.sum(dim=-1, keepdim=True)


def stablemax_cross_entropy(
    logits: Tensor, labels: Tensor, *, dtype: Dtype = float64, reduction: str = "mean"
) -> Tensor:
    """-log StableMax(z)_y, of figures 1, 4, 6, 7, 17, table 1, where it is float64."""
    weights = stablemax_transform(logits.to(dtype))
    return REDUCTIONS[reduction](_negative_log_share(weights, labels))


def taylor_cross_entropy(
    logits: Tensor,
    labels: Tensor,
    *,
    dtype: Dtype = float64,
    detach_min: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """-log of Taylor-softmax (eq. 20): 1 + x + x^2/2 with x = z - min z, figure 11.

    The gradient flows through the minimum (the paper's implicit regularisation)
    unless ``detach_min``. Tied minima share their part of the gradient evenly.
    """
    logits = logits.to(dtype)
    lowest = logits.amin(dim=-1, keepdim=True)
    x = logits - (lowest.detach() if detach_min else lowest)
    losses = _negative_log_share(1 + x + x * (x * 0.5), labels)
    return REDUCTIONS[reduction](losses)


def _negative_log_share(weights: Tensor, labels: Tensor) -> Tensor:  # (*rows)
    return -(pick(weights, labels) / weights.sum(dim=-1)).log()


def mean_squared_error(
    logits: Tensor, labels: Tensor, *, dtype: Dtype = float32, reduction: str = "mean"
) -> Tensor:
    """Squared distance to the one-hot target, averaged over the classes, figure 13."""
    errors = logits.to(dtype) - _is_label(logits, labels).to(dtype)
    rows = (errors * errors).mean(dim=-1)
    return REDUCTIONS[reduction](rows + pick(torch.zeros_like(errors), labels))


def correct_logit_zeroed(
    logits: Tensor, labels: Tensor, *, dtype: Dtype = float64, **how: Any
) -> Tensor:
    """Softmax CE with the correct logit multiplied by 0 (figure 8, appendix B.1).

    The softmax then sees z_y = 0: value and wrong-class gradients change as well.
    """
    logits = logits.masked_fill(_is_label(logits, labels), 0)
    return softmax_cross_entropy(logits, labels, dtype=dtype, **how)


def correct_logit_detached(
    logits: Tensor, labels: Tensor, *, dtype: Dtype = float64, **how: Any
) -> Tensor:
    """Softmax CE with its value kept and no gradient through the correct logit."""
    logits = torch.where(_is_label(logits, labels), logits.detach(), logits)
    return softmax_cross_entropy(logits, labels, dtype=dtype, **how)


def projected_cross_entropy(
    logits: Tensor, labels: Tensor, *, forward: bool = False, **how: Any
) -> Tensor:
    """Softmax CE whose gradient at the logits has its mean over classes taken away.

    The zero-sum projection of Liu et al. (2026), section 3, which leaves the value;
    with ``forward`` the logits lose their mean, the other reading of section B.3.
    """
    mean = logits.mean(dim=-1, keepdim=True)
    # the difference is 0 in the forward pass and takes the mean away in the backward
    logits = logits - (mean if forward else mean - mean.detach())
    return softmax_cross_entropy(logits, labels, **how)


def repaired_cross_entropy(logits: Tensor, labels: Tensor, **how: Any) -> Tensor:
    """Softmax CE whose correct logit gets minus the sum of the other gradients.

    What a collapsed softmax has lost is put back. Not in Liu et al. (2026).
    """
    correct = pick(logits, labels).unsqueeze(-1)
    others = logits - (correct - correct.detach())
    logits = torch.where(_is_label(logits, labels), logits.detach(), others)
    return softmax_cross_entropy(logits, labels, **how)


def rescaled_cross_entropy(
    logits: Tensor, labels: Tensor, *, norm: float, **how: Any
) -> Tensor:
    """Softmax CE of logits scaled to one Euclidean norm in each row; of no paper."""
    length = torch.linalg.vector_norm(logits, dim=-1, keepdim=True)
    tiny = torch.finfo(logits.dtype).tiny
    return softmax_cross_entropy(norm * logits / length.clamp(min=tiny), labels, **how)


def collapsed_cross_entropy(
    logits: Tensor, labels: Tensor, *, dtype: Dtype = float64, **how: Any
) -> Tensor:
    """Softmax CE without a gradient of correct logits that 24 bits would lose.

    A collapse without any other rounding: a row's correct logit gets none once the
    others have less than 2^-24 of the probability. Not in Liu et al. (2026).
    """
    is_lost = (_odds(logits, labels, dtype) < 2.0**-BITS).unsqueeze(-1)
    cut = is_lost & _is_label(logits, labels)
    logits = torch.where(cut, logits.detach(), logits)
    return softmax_cross_entropy(logits, labels, dtype=dtype, **how)


def unbalanced_cross_entropy(
    logits: Tensor, labels: Tensor, *, dtype: Dtype = float64, reduction: str = "mean"
) -> Tensor:
    """Softmax CE with a gradient of sum epsilon where ``collapsed_cross_entropy`` cuts.

    Each of the K logits of such a row gets a K-th of its residual mass epsilon more: of
    a collapse, what ``projected_cross_entropy`` takes away. Not in Liu et al. (2026).
    """
    odds = _odds(logits, labels, dtype).detach()
    excess = torch.where(odds < 2.0**-BITS, odds / (1 + odds), 0.0)
    mean = logits.to(dtype).mean(dim=-1)
    rows = softmax_cross_entropy(logits, labels, dtype=dtype, reduction="none")
    return REDUCTIONS[reduction](rows + excess * (mean - mean.detach()))


def doubled_cross_entropy(
    logits: Tensor, labels: Tensor, *, dtype: Dtype = float64, reduction: str = "mean"
) -> Tensor:
    """Softmax CE with twice the gradient of wrong logits where a simulated one cuts.

    Those rows have the sum of a collapse, the residual mass epsilon, and keep all of
    the correct logit's gradient, -epsilon: a broken sum and nothing lost. Not in Liu
    et al. (2026).
    """
    leads = gaps(logits, labels).to(dtype).exp()
    others = leads.sum(dim=-1, keepdim=True)
    shares = torch.where(others < 2.0**-BITS, leads / (1 + others), 0.0).detach()
    wide = logits.to(dtype)
    rows = softmax_cross_entropy(logits, labels, dtype=dtype, reduction="none")
    return REDUCTIONS[reduction](rows + (shares * (wide - wide.detach())).sum(dim=-1))


def _odds(logits: Tensor, labels: Tensor, dtype: Dtype) -> Tensor:  # of wrong classes
    return gaps(logits, labels).to(dtype).exp().sum(dim=-1)


def clamped_cross_entropy(
    logits: Tensor, labels: Tensor, *, depth: float | Tensor = 100.0, **how: Any
) -> Tensor:
    """Softmax CE of logits raised to at least the largest minus ``depth``.

    Then no exponential underflows (Liu et al. 2026, section B.2.10). A raised logit has
    no gradient, and the maximum has none through the others.
    """
    logits = torch.maximum(logits, logits.detach().amax(dim=-1, keepdim=True) - depth)
    return softmax_cross_entropy(logits, labels, **how)
