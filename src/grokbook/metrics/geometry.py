"""How near features and a head are to neural collapse.

    NC1   within / between = mean |h - mu_k|^2 / mean |mu_k - mu_G|^2
    NC2   the lengths of mu_k - mu_G agree, their cosines are -1 / (K - 1)
    NC3'  |W* / |W*| - M* / |M*||, of W_k - W_G and mu_k - mu_G as matrices

All are 0 in the state that Definitions 3 and 5 of Liu et al. 2026 describe, after
Papyan et al. 2020. mu_G is the mean of the K class means, which is that of all samples
where classes are balanced. A class without a sample is left out of all four.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from grokbook.metrics.vectors import ratio


class NeuralCollapse(NamedTuple):
    """Four distances from it, each 0 there."""

    within_over_between: Tensor
    spread_of_lengths: Tensor
    angle_error: Tensor
    duality_error: Tensor


def neural_collapse(features: Tensor, labels: Tensor, head: Tensor) -> NeuralCollapse:
    """Of features (rows, width), labels (rows,) and a head's weights (classes, width).

    ``spread_of_lengths``: their standard deviation over their mean. ``angle_error``:
    mean distance of the cosine of two classes from -1 / (K - 1). ``duality_error`` is
    between 0 and 2.
    """
    features, head = features.double(), head.double()
    classes = torch.arange(len(head), device=labels.device)
    belongs = (labels[:, None] == classes).double()
    count = belongs.sum(dim=0)
    there = (count > 0).double()  # a class with samples: 1, else 0
    many = there.sum()

    def centred(rows: Tensor) -> Tensor:
        """Rows of the classes that are there, without their mean; 0 of the others."""
        mean = (there @ rows) / many
        return there[:, None] * (rows - mean)

    means = (belongs.T @ features) / count.clamp(min=1)[:, None]
    within = (features - belongs @ means).square().sum(dim=1).mean()
    class_means, weights = centred(means), centred(head)
    lengths = class_means.norm(dim=1)
    mean_length = lengths.sum() / many
    variance = (there * (lengths - mean_length).square()).sum() / many

    products = class_means @ class_means.T
    cosines = ratio(products, lengths[:, None] * lengths)
    pairs = there[:, None] * there * (classes[:, None] != classes)
    errors = pairs * (cosines + 1 / (many - 1)).abs()

    directions = [ratio(m, m.norm().expand_as(m)) for m in (weights, class_means)]
    return NeuralCollapse(
        ratio(within, lengths.square().sum() / many),
        ratio(variance.sqrt(), mean_length),
        ratio(errors.sum(), pairs.sum()),
        (directions[0] - directions[1]).norm(),
    )
