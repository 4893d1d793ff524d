"""Losses of Prieto et al. (2025) and Liu et al. (2026), each in a chosen precision.

    softmax CE      -log softmax(z)_y                               [eq. 1]
    StableMax CE    -log s(z_y) / sum_k s(z_k)                      [section 4]
    Taylor CE       the same with 1 + x + x^2/2 of z - min z        [eq. 20]
    exact CE        log(1 + sum_{k != y} exp(z_k - z_y))            (not in the paper)
    interventions   softmax CE of changed logits, or with another gradient: projected,
                    repaired, cut, ...       [Liu et al. 2026, sections 3 and B]

Figures, tables, equations and sections without a name are those of Prieto et al.
(2025).

Logits are (*rows, classes) of any floating dtype, and labels (*rows) int64, where rows
are samples, or samples and positions. A loss is a 0-dim tensor by the ``reduction``
"mean" or "sum", and (*rows) by "none". It is computed *and returned* in ``dtype``, mean
included, since that precision decides when an addend is absorbed. ``options`` of an
intervention are those of ``softmax_cross_entropy``. All losses work under
``torch.func.vmap`` and can be differentiated twice, in reverse and in forward mode.

A NaN logit makes a loss NaN. A wrong class at -inf counts for nothing, except that the
Taylor, projected, rescaled, unbalanced and doubled losses are NaN then, the squared one
inf, and so is one with smoothing, as in torch. A logit of inf, or the label's at -inf,
makes a loss inf or NaN, except that exact CE is 0 with inf at the label, and clamped CE
is finite with -inf there. Without rows a mean is NaN and a sum 0.
"""

from typing import Any

import torch
from torch import Tensor, float32, float64
from torch.autograd import forward_ad

from claimbook.errors import choose

Dtype = torch.dtype
NO_FLOAT64 = ("mps",)  # types of devices: Apple's GPUs
REDUCTIONS: dict[str, Any] = {"mean": torch.mean, "sum": torch.sum, "none": torch.clone}
# Odds of the wrong classes below which a simulated collapse loses the gradient of the
# correct logit: a float32 has 24 bits.
COLLAPSE_ODDS = 2.0**-24


def widest_dtype(x: Tensor) -> Dtype:
    """Return float64, or float32 for a tensor on a device that has no float64."""
    return float32 if x.device.type in NO_FLOAT64 else float64


def on_gpu(x: Tensor) -> bool:
    """Return whether a tensor is on a GPU, which ``is_cuda`` may not say under vmap."""
    return x.device.type == "cuda"


def is_forward_mode() -> bool:
    """Return whether torch differentiates in forward mode, as in ``torch.func.jvp``.

    A derivative that is written by hand cannot be nested there: torch makes it 0.
    """
    return forward_ad._current_level >= 0


def label_column(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the labels (*rows) of logits (*rows, classes) as (*rows, 1) int64.

    Raises ValueError for labels of another shape, even with as many entries, and for
    labels that are not whole numbers. Whether a label is a class is not checked.
    """
    is_whole = not (labels.is_floating_point() or labels.is_complex())
    if not is_whole or labels.dtype == torch.bool:
        raise ValueError(f"labels are numbers of classes, not {labels.dtype}")
    if labels.shape != logits.shape[:-1]:
        raise ValueError(
            f"labels {tuple(labels.shape)} do not fit logits {tuple(logits.shape)}: "
            f"give labels {tuple(logits.shape[:-1])}, or put the classes into the last "
            "dimension of the logits"
        )
    return labels.long().unsqueeze(-1)


def _is_label(logits: Tensor, labels: Tensor) -> Tensor:
    """Return a boolean (*rows, classes), true at the correct class.

    The row of a label that is not a class is false. ``label_column`` says what is
    raised for labels that do not fit.
    """
    classes = torch.arange(logits.shape[-1], device=logits.device)
    return label_column(logits, labels) == classes


def pick(values: Tensor, labels: Tensor) -> Tensor:
    """Return the entry of each row of values (*rows, classes) at its label: (*rows).

    A label that is not a class raises an error on a CPU and gives NaN on a GPU.
    """
    if on_gpu(values):  # without gather, whose backward pass would sort
        # a sum with one addend that is not 0, so exact
        is_label = _is_label(values, labels)
        picked = torch.where(is_label, values, 0).sum(-1)
        return picked.where(is_label.any(-1), float("nan"))
    return values.gather(-1, label_column(values, labels)).squeeze(-1)


def _reduced(losses: Tensor, reduction: str) -> Tensor:
    """Return losses (*rows) reduced as a key of ``REDUCTIONS`` says: (), or (*rows).

    Raises UnknownName for another key.
    """
    return choose("reduction", reduction, REDUCTIONS)(losses)


def softmax_cross_entropy(
    logits: Tensor,
    labels: Tensor,
    *,
    dtype: Dtype = float32,
    smoothing: float | Tensor = 0.0,
    reduction: str = "mean",
) -> Tensor:
    """Return softmax cross-entropy (eq. 1), the loss of most figures.

    It is computed as in the official code of Prieto et al. (2025). ``smoothing``, a
    number or a 0-dim tensor in [0, 1], is the share of the target that label smoothing
    spreads evenly over all classes. Raises ValueError for another number. The module's
    docstring explains the other arguments, which all losses take.
    """
    # a tensor is not compared: that would wait for the device
    if not isinstance(smoothing, Tensor) and not 0 <= smoothing <= 1:
        raise ValueError(f"smoothing is in [0, 1], not {smoothing!r}")
    log_probs = logits.to(dtype).log_softmax(dim=-1)
    losses = -pick(log_probs, labels)
    if isinstance(smoothing, Tensor):
        smoothing = smoothing.to(dtype)
    if isinstance(smoothing, Tensor) or smoothing != 0:
        losses = (1 - smoothing) * losses - smoothing * log_probs.mean(dim=-1)
    return _reduced(losses, reduction)


def handmade_cross_entropy(
    logits: Tensor, labels: Tensor, *, dtype: Dtype = float32, reduction: str = "mean"
) -> Tensor:
    """Return softmax CE with log-softmax as z - max - log sum exp(z - max).

    Autograd differentiates it step by step, so where the loss is 0 its gradient is not
    that of torch's log_softmax (Prieto et al. 2025, appendix I).
    """
    # (*rows, classes), the largest 0
    shifted = logits.to(dtype) - logits.to(dtype).amax(dim=-1, keepdim=True)
    log_probs = shifted - shifted.exp().sum(dim=-1, keepdim=True).log()
    return _reduced(-pick(log_probs, labels), reduction)


def exact_cross_entropy(
    logits: Tensor, labels: Tensor, *, dtype: Dtype = float32, reduction: str = "mean"
) -> Tensor:
    """Return softmax CE that does not collapse, the control of figures 1 and 8.

    It is zero only once exp underflows: if the correct logit leads every other one by
    103 in float32, by 745 in float64. Where another class leads by c > 0 (``shift``),
    it is c + log1p(sum_{k != y} exp(z_k - z_y - c) + exp(-c) - 1). The gradient of such
    a row is off by about eps * c, which is 6e-5 in float32 at c = 1,000.
    """
    leads = gaps(logits.to(dtype), labels)
    # (*rows, 1), 0 where the label leads; it cancels from the gradient, so it is a
    # constant
    shift = leads.detach().amax(dim=-1, keepdim=True).clamp(min=0)
    # without the label, where gaps gives -inf
    total = (leads - shift).exp().sum(dim=-1, keepdim=True)
    losses = shift + torch.log1p(total + torch.expm1(-shift))
    return _reduced(losses.squeeze(-1), reduction)


def gaps(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the leads z_k - z_y of all classes over the label: (*rows, classes).

    They are in the dtype of the logits (*rows, classes). The entry at the label itself
    is -inf, also beside NaN, so that its exponential adds 0 to a sum over the wrong
    classes.
    """
    leads = logits - pick(logits, labels).unsqueeze(-1)
    return leads.masked_fill(_is_label(logits, labels), float("-inf"))


class _StableMax(torch.autograd.Function):
    """s(x) of any shape, with its derivative min(s, 1)^2, which is NaN for NaN alone.

    s is x + 1 for x >= 0 and 1 / (1 - x) below, here as one quotient, (max(x, 0) + 1) /
    (1 - min(x, 0)), which equals both branches bit for bit. The derivative is 1 above 0
    and s^2 = 1 / (1 - x)^2 below. It is written by hand, as with autograd's the loss
    takes five times as long.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        above, below = x.clamp(min=0), x.clamp(max=0)
        # in place, as both are new tensors
        return above.add_(1).div_(below.neg_().add_(1))

    @staticmethod
    def setup_context(ctx: Any, _inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (output,) = ctx.saved_tensors
        slope = output.clamp(max=1)
        if torch.is_grad_enabled():  # a second derivative needs each product
            return slope * slope * grad
        return slope.mul_(slope).mul_(grad)  # in place: 4 % of a small network's step


def stablemax_transform(x: Tensor) -> Tensor:
    """Return s(x) for x of any shape: x + 1 for x >= 0, and 1 / (1 - x) below.

    It is inf at inf, 0 at -inf, and NaN at NaN.
    """
    if is_forward_mode():  # where torch makes the derivative of `_StableMax` 0
        # clamped instead, both factors would have a slope of 1 at x = 0, together 2
        is_above = x > 0
        return (torch.where(is_above, x, 0) + 1) / (1 - torch.where(is_above, 0, x))
    return _StableMax.apply(x)


def stablemax(logits: Tensor, *, dtype: Dtype = float64) -> Tensor:
    """Return the shares s(z_i) / sum_j s(z_j) of the classes: (*rows, classes).

    They are in ``dtype``. Unlike softmax, they change when a constant is added to all
    logits. A class at -inf has the share 0; a row is NaN if all are, and inf gives NaN.
    """
    weights = stablemax_transform(logits.to(dtype))
    # a sum of float16 ends at 65,504
    wide = weights.to(torch.promote_types(dtype, float32))
    return (wide / wide.sum(dim=-1, keepdim=True)).to(dtype)


def stablemax_cross_entropy(
    logits: Tensor, labels: Tensor, *, dtype: Dtype = float64, reduction: str = "mean"
) -> Tensor:
    """Return the loss -log StableMax(z)_y (section 4).

    Figures 1, 4, 6, 7 and 17 and table 1 use it in float64.
    """
    weights = stablemax_transform(logits.to(dtype))
    return _reduced(_negative_log_share(weights, labels), reduction)


def taylor_cross_entropy(
    logits: Tensor,
    labels: Tensor,
    *,
    dtype: Dtype = float64,
    detach_min: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """Return the loss -log Taylor-softmax(z)_y (eq. 20) of figure 11.

    The weight of a class is 1 + x + x^2/2 with x = z - min z over its row. The gradient
    flows through the minimum (the paper's implicit regularisation) unless
    ``detach_min``. Tied minima share their part of the gradient evenly. A weight beyond
    ``dtype`` (x > 2.6e19 in float32, x > 360 in float16) makes the loss infinite or
    NaN.
    """
    logits = logits.to(dtype)
    lowest = logits.amin(dim=-1, keepdim=True)
    x = logits - (lowest.detach() if detach_min else lowest)
    losses = _negative_log_share(1 + x + x * (x * 0.5), labels)
    return _reduced(losses, reduction)


def _negative_log_share(weights: Tensor, labels: Tensor) -> Tensor:
    """Return -log of the label's share of the weights (*rows, classes): (*rows).

    The weights are not below 0. Result and weights have one dtype.
    """
    # a sum of float16 ends at 65,504, and a share of it at 6e-8
    wide = weights.to(torch.promote_types(weights.dtype, float32))
    return -(pick(wide, labels) / wide.sum(dim=-1)).log().to(weights.dtype)


def mean_squared_error(
    logits: Tensor, labels: Tensor, *, dtype: Dtype = float32, reduction: str = "mean"
) -> Tensor:
    """Return the squared distance to the one-hot target, averaged over the classes.

    It is the loss of figure 13.
    """
    errors = logits.to(dtype) - _is_label(logits, labels).to(dtype)
    losses = (errors * errors).mean(dim=-1)
    # adds 0, and an error or NaN for a label that is not a class
    return _reduced(losses + pick(torch.zeros_like(errors), labels), reduction)


def correct_logit_zeroed(
    logits: Tensor, labels: Tensor, *, dtype: Dtype = float64, **options: Any
) -> Tensor:
    """Return softmax CE with the correct logit multiplied by 0.

    [Figure 8, appendix B.1] The softmax then has z_y = 0, so its value and the
    gradients of wrong logits change as well.
    """
    logits = logits * ~_is_label(logits, labels)
    return softmax_cross_entropy(logits, labels, dtype=dtype, **options)


def correct_logit_detached(
    logits: Tensor, labels: Tensor, *, dtype: Dtype = float64, **options: Any
) -> Tensor:
    """Return softmax CE, its value unchanged, with no gradient at the correct logit."""
    logits = torch.where(_is_label(logits, labels), logits.detach(), logits)
    return softmax_cross_entropy(logits, labels, dtype=dtype, **options)


def projected_cross_entropy(
    logits: Tensor,
    labels: Tensor,
    *,
    forward: bool = False,
    dtype: Dtype = float32,
    **options: Any,
) -> Tensor:
    """Return softmax CE whose gradient in the logits loses its mean over the classes.

    This is the zero-sum projection of Liu et al. (2026), section 3, which leaves the
    value as it is. With ``forward`` the logits themselves lose their mean, the other
    reading of section B.3 of that paper.
    """
    logits = logits.to(dtype)
    mean = logits.mean(dim=-1, keepdim=True)
    # mean - mean.detach() is 0 in the forward pass; in the backward pass it takes the
    # mean away
    logits = logits - (mean if forward else mean - mean.detach())
    return softmax_cross_entropy(logits, labels, dtype=dtype, **options)


def repaired_cross_entropy(logits: Tensor, labels: Tensor, **options: Any) -> Tensor:
    """Return softmax CE whose gradient of the correct logit is minus the others' sum.

    This restores the gradient that a collapsed softmax loses. It is not in Liu et al.
    (2026).
    """
    correct = pick(logits, labels).unsqueeze(-1)
    # 0 in value; through it the correct logit gets minus the wrong logits' gradients
    others = logits - (correct - correct.detach())
    logits = torch.where(_is_label(logits, labels), logits.detach(), others)
    return softmax_cross_entropy(logits, labels, **options)


def rescaled_cross_entropy(
    logits: Tensor,
    labels: Tensor,
    *,
    norm: float,
    dtype: Dtype = float32,
    **options: Any,
) -> Tensor:
    """Return softmax CE of logits scaled to the Euclidean norm ``norm`` in each row.

    It is in none of the papers. A row of zeros stays so, and its gradient is huge. A
    logit times ``norm``, and the square of the row's length, have to be within
    the range of ``dtype``: in float32 the length is between 1e-19 and 1e19.
    """
    logits = logits.to(dtype)
    length = torch.linalg.vector_norm(logits, dim=-1, keepdim=True)
    scaled = norm * logits / length.clamp(min=torch.finfo(dtype).tiny)
    return softmax_cross_entropy(scaled, labels, dtype=dtype, **options)


def collapsed_cross_entropy(
    logits: Tensor, labels: Tensor, *, dtype: Dtype = float64, **options: Any
) -> Tensor:
    """Return softmax CE without the gradients of correct logits that float32 loses.

    It simulates a collapse without any other rounding: the correct logit of a row has
    no gradient once the odds of the wrong classes, their probability over that of the
    correct one, are below 2^-24. It is not in Liu et al. (2026).
    """
    # (*rows, 1)
    odds = _odds_by_class(logits, labels, dtype).sum(dim=-1, keepdim=True)
    is_lost = (odds < COLLAPSE_ODDS) & _is_label(logits, labels)
    logits = torch.where(is_lost, logits.detach(), logits)
    return softmax_cross_entropy(logits, labels, dtype=dtype, **options)


def unbalanced_cross_entropy(
    logits: Tensor, labels: Tensor, *, dtype: Dtype = float64, reduction: str = "mean"
) -> Tensor:
    """Return softmax CE whose gradient sums to epsilon in rows of a simulated collapse.

    They are the rows in which ``collapsed_cross_entropy`` loses a gradient. Each of
    their K logits gets an additional gradient epsilon / K, where epsilon, the residual
    mass of the row, is the probability of all wrong classes. It is the part of a
    collapse that ``projected_cross_entropy`` takes away. It is not in Liu et al.
    (2026).
    """
    # of all wrong classes, (*rows), as residual_mass and mean are
    odds = _odds_by_class(logits, labels, dtype).sum(dim=-1).detach()
    residual_mass = torch.where(odds < COLLAPSE_ODDS, odds / (1 + odds), 0.0)
    mean = logits.to(dtype).mean(dim=-1)
    losses = softmax_cross_entropy(logits, labels, dtype=dtype, reduction="none")
    # mean - mean.detach() is 0 in the forward pass, with a gradient of 1 / K
    return _reduced(losses + residual_mass * (mean - mean.detach()), reduction)


def doubled_cross_entropy(
    logits: Tensor, labels: Tensor, *, dtype: Dtype = float64, reduction: str = "mean"
) -> Tensor:
    """Return softmax CE that doubles gradients of wrong logits in a simulated collapse.

    It does so in the rows in which ``collapsed_cross_entropy`` loses a gradient. The
    gradient of the correct logit stays -epsilon, minus the residual mass, and the
    gradients of a row sum to epsilon as in a collapse: the sum is broken, and nothing
    is lost. It is not in Liu et al. (2026).
    """
    odds_by_class = _odds_by_class(logits, labels, dtype)
    odds = odds_by_class.sum(dim=-1, keepdim=True)
    # the gradients of the wrong logits once more, which are their probabilities, and 0
    # elsewhere: (*rows, classes)
    added = torch.where(odds < COLLAPSE_ODDS, odds_by_class / (1 + odds), 0.0).detach()
    z = logits.to(dtype)
    losses = softmax_cross_entropy(logits, labels, dtype=dtype, reduction="none")
    # z - z.detach() is 0 in the forward pass, with a gradient of 1
    return _reduced(losses + (added * (z - z.detach())).sum(dim=-1), reduction)


def _odds_by_class(logits: Tensor, labels: Tensor, dtype: Dtype) -> Tensor:
    """Return p_k / p_y of every class k, and 0 at the label y: (*rows, classes).

    p are probabilities of softmax. The leads are taken in the dtype of the logits, and
    their exponentials, which overflow to inf, in ``dtype``.
    """
    return gaps(logits, labels).to(dtype).exp()


def clamped_cross_entropy(
    logits: Tensor,
    labels: Tensor,
    *,
    depth: float | Tensor = 100.0,
    dtype: Dtype = float32,
    **options: Any,
) -> Tensor:
    """Return softmax CE of logits that are at most ``depth`` below their row's largest.

    Lower logits are raised to that, so that no exponential underflows (Liu et al. 2026,
    section B.2.10). ``depth`` is a number or a tensor (). A raised logit has no
    gradient, and none flows to the largest logit through the raised ones. With a depth
    of 0 all are raised to the largest one, and so are logits for which ``dtype`` rounds
    ``depth`` away, in float32 and with the default those from 2^31 on. Of a logit that
    is exactly at the limit torch halves the gradient.
    """
    logits = logits.to(dtype)
    logits = torch.maximum(logits, logits.detach().amax(dim=-1, keepdim=True) - depth)
    return softmax_cross_entropy(logits, labels, dtype=dtype, **options)
