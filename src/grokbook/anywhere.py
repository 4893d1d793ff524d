"""Remedies for any training loop; ⊥Grad is ``orthogonal`` in `grokbook.optimizers`."""

import math
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, float32, float64, nn

from claimbook.errors import choose
from grokbook import losses


class StableMaxLoss(nn.Module):
    """StableMax cross-entropy in the place of ``nn.CrossEntropyLoss``.

    [Prieto et al. 2025, section 4] Logits are (N, classes, d1, ...) or (classes,), and
    labels, the numbers of classes, (N, d1, ...) or (). The options are torch's:
    ``weight`` has a factor for each class, and a mean divides by the sum of the labels'
    factors; ``label_smoothing`` is the share of the target that is spread over all
    classes; a label ``ignore_index`` has a loss of 0 and does not count in a mean,
    which is NaN, as torch's, if no label counts. The loss is computed and returned in
    ``dtype``, by default float64. On a device without float64 it is float32, as a
    warning says once. Wrong options raise ValueError at construction.
    """

    # of logits (*rows, classes) and labels (*rows)
    loss_function: Callable[..., Tensor] = staticmethod(losses.stablemax_cross_entropy)
    # logits to log-probabilities, but for a constant that is added to a row
    scores: Callable[[Tensor], Tensor] = staticmethod(
        lambda logits: losses.stablemax_transform(logits).log()
    )
    default_dtype = float64
    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        *,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
        dtype: torch.dtype | None = None,
    ):
        super().__init__()
        if not (weight is None or isinstance(weight, Tensor) and weight.dim() == 1):
            raise ValueError(f"weight is a tensor (classes,) or None, not {weight!r}")
        is_number = isinstance(label_smoothing, float | int)
        if not (is_number and 0 <= label_smoothing <= 1):
            raise ValueError(f"label_smoothing is in [0, 1], not {label_smoothing!r}")
        if not isinstance(ignore_index, int):
            raise ValueError(f"ignore_index is a whole number, not {ignore_index!r}")
        self.dtype = dtype or self.default_dtype
        if not (isinstance(self.dtype, torch.dtype) and self.dtype.is_floating_point):
            raise ValueError(f"the dtype of a loss is a floating one, not {dtype!r}")
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index
        self.reduction = choose("reduction", reduction, [*losses.REDUCTIONS])
        self.label_smoothing = label_smoothing

    def extra_repr(self) -> str:
        """Return the options, which torch puts into the module's ``repr``."""
        names = ("weight", "ignore_index", "reduction", "label_smoothing", "dtype")
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss, (), or with ``reduction="none"`` one for each label.

        Logits and labels have the shapes that the class's docstring names. Raises
        ValueError for any others, and for labels that are not whole numbers. A label
        that is not a class raises an error on a CPU and gives NaN on a GPU.
        """
        rows = logits.movedim(1, -1) if logits.dim() > 1 else logits  # (*rows, classes)
        self._check(logits, labels, rows)
        if self.dtype == float64 and losses.widest_dtype(logits) == float32:
            device = logits.device.type
            warnings.warn(f"{device} has no float64: float32 is used", stacklevel=3)
            self.dtype = float32
        labels = labels.long()  # the uint8 number 156 would equal -100
        is_ignored = labels == self.ignore_index
        # any class, as its loss becomes 0 below
        labels = labels.masked_fill(is_ignored, 0)
        # a row that is ignored, such as padding, may hold anything, NaN too
        rows = rows.to(self.dtype).masked_fill(is_ignored.unsqueeze(-1), 0)
        weights = torch.ones_like(rows)  # (*rows, classes)
        if self.weight is not None:
            weights = weights * self.weight.to(rows)
        label_weights = losses.pick(weights, labels)  # (*rows), as the loss is
        # it and ``scores`` are StableMax's, or those of a subclass
        loss = self.loss_function(rows, labels, dtype=self.dtype, reduction="none")
        # with a logit of inf the loss is NaN, as torch's: inf - inf is not a loss
        loss = loss.masked_fill((rows == torch.inf).any(dim=-1), torch.nan)
        weighted = label_weights * loss
        if self.label_smoothing:
            scores = self.scores(rows)
            # the loss if class k were the label is the label's, plus the label's lead
            # over k in scores; both are (*rows, classes)
            leads = losses.pick(scores, labels).unsqueeze(-1) - scores
            loss_by_class = weights * (loss.unsqueeze(-1) + leads)
            spread = loss_by_class.mean(dim=-1)
            weighted = torch.lerp(weighted, spread, self.label_smoothing)
        weighted = weighted.masked_fill(is_ignored, 0)
        if self.reduction != "mean":
            return losses.REDUCTIONS[self.reduction](weighted)
        # a sum of float16 would end at 65,504 rows
        wide = torch.promote_types(self.dtype, float32)
        total = label_weights.masked_fill(is_ignored, 0).sum(dtype=wide)
        return (weighted.sum(dtype=wide) / total).to(self.dtype)

    def _check(self, logits: Tensor, labels: Tensor, rows: Tensor) -> None:
        """Raise ValueError for logits or labels that this loss does not take.

        ``rows`` are the logits with the classes in the last dimension.
        """
        shapes = f"logits {tuple(logits.shape)} and labels {tuple(labels.shape)}"
        if not logits.is_floating_point():
            raise ValueError(f"logits are floating point numbers, not {logits.dtype}")
        # before the shapes, as probabilities of classes, which torch takes, have others
        if labels.dtype.is_floating_point or labels.dtype == torch.bool:
            raise ValueError(f"labels are numbers of classes, not {labels.dtype}")
        if labels.shape != rows.shape[:-1]:
            raise ValueError(
                f"{shapes} do not fit: nn.CrossEntropyLoss and this loss take "
                "logits (N, classes, d1, ...) and labels (N, d1, ...)"
            )
        if self.weight is not None and len(self.weight) != rows.shape[-1]:
            raise ValueError(f"{len(self.weight)} weights do not fit {shapes}")


class CollapseFreeLoss(StableMaxLoss):
    """Softmax cross-entropy that does not round to zero, with the same options.

    It is `losses.exact_cross_entropy`, computed in float32 by default. Where the
    label's logit is -inf it is NaN, while torch's loss is inf.
    """

    loss_function = staticmethod(losses.exact_cross_entropy)
    scores = staticmethod(lambda logits: logits)
    default_dtype = float32


class Pull:
    """A penalty on the norms of what modules put out since it was last asked for.

    ``pull()``, to be added to each loss, is strength * sum over outputs of the mean
    over rows of (||h|| - target)^2 / width, where h (*rows, width) is an output of a
    module. A target of 0 is MAN of Tiwari et al. (2026), and sqrt(width) their radial
    penalty.

    Every output since the last ``pull()`` counts, also two of one module, and each
    counts once. Outputs under ``torch.no_grad`` do not count, and there ``pull()`` is
    0 and forgets nothing. Outputs of copies of the modules, such as a moving average,
    do not count, and a copy of the Pull collects none. An output without rows makes
    ``pull()`` NaN. Raises ValueError without modules, and for a strength that is
    negative, infinite or NaN.
    """

    def __init__(self, *modules: nn.Module, strength: float, target: float = 0.0):
        if not modules or not 0 <= strength < math.inf:
            raise ValueError("a Pull needs modules, and a strength from 0 on")
        self.strength, self.target = strength, target
        self.outputs: list[Tensor] = []
        for module in modules:
            module.register_forward_hook(_Collector(self.outputs))

    def __call__(self) -> Tensor:
        """Return the penalty, (), and forget the outputs that it is made of.

        Raises RuntimeError if there is none since the last call.
        """
        if not torch.is_grad_enabled():  # as in an evaluation, which collected nothing
            return torch.zeros(())
        if not self.outputs:
            raise RuntimeError(
                "nothing to pull: call pull() once after each pass of the modules that "
                "it was made of (not of copies), with gradients"
            )
        terms = []
        for h in self.outputs:
            # (*rows), in float32 at least
            length = h.norm(dim=-1, dtype=torch.promote_types(h.dtype, float32))
            distance = (length - self.target) / h.shape[-1] ** 0.5
            terms.append(distance.square().mean())
        self.outputs.clear()  # in place, as the modules' hooks have this list
        return self.strength * torch.stack(terms).sum()

    def __getstate__(self) -> dict[str, Any]:
        # a list of its own, to which no hook of a module adds: a copy collects nothing
        return self.__dict__ | {"outputs": []}


class _Collector:
    """A forward hook of a module that puts outputs which need a gradient into a list.

    The list is that of a `Pull`. A copy, which is made with a copy of the module, has
    no list (None) and collects nothing.
    """

    def __init__(self, outputs: list[Tensor] | None = None):
        self.outputs = outputs

    def __call__(self, module: nn.Module, _inputs: Any, output: Any) -> None:
        """Put the output of a module into the list, if it needs a gradient.

        Raises TypeError for an output that is not one tensor.
        """
        if self.outputs is None:
            return
        if not isinstance(output, Tensor):
            raise TypeError(
                f"Pull needs one tensor, and {type(module).__name__} returns a "
                f"{type(output).__name__}: give it a module inside or after this one"
            )
        if output.requires_grad:
            self.outputs.append(output)

    def __reduce__(self) -> tuple[type, tuple]:
        # copies and pickles are made without the list
        return _Collector, ()
