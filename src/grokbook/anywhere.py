"""Remedies for any training loop; ⊥Grad is ``orthogonal`` in `grokbook.optimizers`."""

from typing import Any

import torch
from torch import Tensor, nn

from grokbook import losses


class StableMaxLoss(nn.Module):
    """StableMax cross-entropy of logits (rows, classes) and labels (rows,).

    [Prieto, section 4] Rows with the label ``ignore_index`` do not count.
    ``loss_options`` are ``reduction`` and ``dtype`` of the loss.
    """

    function = staticmethod(losses.stablemax_cross_entropy)

    def __init__(self, *, ignore_index: int = -100, **loss_options: Any):
        super().__init__()
        self.ignore_index = ignore_index
        self.loss_options = loss_options

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        kept = labels != self.ignore_index
        return self.function(logits[kept], labels[kept], **self.loss_options)


class CollapseFreeLoss(StableMaxLoss):
    """Softmax cross-entropy that does not round to zero, with the same arguments."""

    function = staticmethod(losses.exact_cross_entropy)


class Pull:
    """A penalty of the outputs of modules in their last forward pass.

    ``pull()``, to be added to each loss, is strength * sum over modules of the mean
    over rows of (||h|| - target)^2 / width, where h (rows, width) is a module's output.
    A target of 0 is MAN of Tiwari et al. (2026), and sqrt(width) their radial penalty.
    """

    def __init__(self, *modules: nn.Module, strength: float, target: float = 0.0):
        self.strength, self.target = strength, target
        self.outputs: dict[int, Tensor] = {}
        for index, module in enumerate(modules):
            module.register_forward_hook(
                lambda _module, _inputs, h, index=index: self.outputs.update({index: h})
            )

    def __call__(self) -> Tensor:
        distances = [
            (h.norm(dim=-1) - self.target) / h.shape[-1] ** 0.5
            for h in self.outputs.values()
        ]
        terms = [distance.square().mean() for distance in distances]
        return self.strength * torch.stack(terms).sum()
