"""Remedies in a loop of one's own; ⊥Grad is ``orthogonal`` of the optimizers."""

from typing import Any

import torch
from torch import Tensor, nn

from grokbook import losses


class StableMaxLoss(nn.Module):
    """StableMax cross-entropy of logits (rows, classes) and labels (rows) [Prieto, 4].

    Rows labelled ``ignore_index`` do not count; ``how``: ``reduction`` and ``dtype``.
    """

    function = staticmethod(losses.stablemax_cross_entropy)

    def __init__(self, *, ignore_index: int = -100, **how: Any):
        super().__init__()
        self.ignore_index, self.how = ignore_index, how

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        kept = labels != self.ignore_index
        return self.function(logits[kept], labels[kept], **self.how)


class CollapseFreeLoss(StableMaxLoss):
    """Softmax cross-entropy that does not round to zero; used alike."""

    function = staticmethod(losses.exact_cross_entropy)


class Pull:
    """strength * sum over modules of the mean over rows of (||h|| - target)^2 / width.

    ``h`` (rows, width) is what a module gave in its last pass: add ``pull()`` to each
    loss. A target of 0 is MAN of Tiwari et al. (2026), theirs is sqrt(width).
    """

    def __init__(self, *modules: nn.Module, strength: float, target: float = 0.0):
        self.strength, self.target, self.seen = strength, target, dict[int, Tensor]()
        for k, one in enumerate(modules):
            one.register_forward_hook(lambda _m, _x, h, k=k: self.seen.update({k: h}))

    def __call__(self) -> Tensor:
        found = self.seen.values()
        off = [(h.norm(dim=-1) - self.target) / h.shape[-1] ** 0.5 for h in found]
        return self.strength * torch.stack([one.square().mean() for one in off]).sum()
