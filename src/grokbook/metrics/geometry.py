"""Distances of features and a head from neural collapse.

    NC1   within / between = mean |h - mu_k|^2 / mean |mu_k - mu_G|^2
    NC2   the lengths of mu_k - mu_G agree, their cosines are -1 / (K - 1)
    NC3'  |W* / |W*| - M* / |M*||, of W_k - W_G and mu_k - mu_G as matrices

All are 0 in the state that Definitions 3 and 5 of Liu et al. (2026) describe, after
Papyan et al. (2020). mu_G is the mean of the K class means mu_k, which is the mean of
all samples if the classes are balanced; W_G is the mean of the rows W_k of the head. A
class without a sample is left out of all four.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from grokbook.losses import label_column
from grokbook.metrics.vectors import near_one, ratio


class NeuralCollapse(NamedTuple):
    """What `neural_collapse` returns, () each: 0 in the state of neural collapse."""

    within_over_between: Tensor
    spread_of_lengths: Tensor
    angle_error: Tensor
    duality_error: Tensor


def neural_collapse(features: Tensor, labels: Tensor, head: Tensor) -> NeuralCollapse:
    """Return the distances from neural collapse, NC1 to NC3' in this order.

    Features are (rows, width), labels (rows,) and the head's weights (classes, width).
    ``within_over_between`` is NC1, infinite if all mu_k are equal, or NaN if all
    features are. ``spread_of_lengths`` is the standard deviation of the lengths of NC2
    over their mean, NaN if all are 0.
    ``angle_error`` is the mean distance of the cosine of two classes from -1 / (K - 1),
    NaN if only one class has samples. ``duality_error`` is NC3', between 0 and 2, in
    which a matrix of zeros stays zero. Without rows all are NaN. A row whose label is
    no class is in no mu_k, and its distance to 0 is part of NC1. Raises ValueError for
    labels of another shape.
    """
    label_column(features, labels)  # refuses those that are not one for each row
    (features,), (head,) = near_one([features]), near_one([head])
    classes = torch.arange(len(head), device=labels.device)
    one_hot = (labels[:, None] == classes).double()  # (rows, classes)
    counts = one_hot.sum(dim=0)  # (classes,), how many rows each has
    has_samples = (counts > 0).double()  # (classes,) of 0 and 1, which works under vmap
    class_count = has_samples.sum()

    def centred(rows: Tensor) -> Tensor:
        """Return ``rows`` (classes, width) less the mean of those with samples.

        The rows of the other classes become 0.
        """
        mean = (has_samples @ rows) / class_count
        return has_samples[:, None] * (rows - mean)

    # mu_k (classes, width), 0 for a class without a sample
    raw_means = (one_hot.T @ features) / counts.clamp(min=1)[:, None]
    within = (features - one_hot @ raw_means).square().sum(dim=1).mean()
    centred_means, centred_head = centred(raw_means), centred(head)  # (classes, width)
    lengths = centred_means.norm(dim=1)
    mean_length = lengths.sum() / class_count
    variance = (has_samples * (lengths - mean_length).square()).sum() / class_count

    products = centred_means @ centred_means.T  # (classes, classes), as cosines are
    cosines = ratio(products, lengths[:, None] * lengths)
    # 1 for two different classes that have samples
    is_pair = has_samples[:, None] * has_samples * (classes[:, None] != classes)
    errors = is_pair * (cosines + 1 / (class_count - 1)).abs()

    head_direction, means_direction = (
        ratio(matrix, matrix.norm()) for matrix in (centred_head, centred_means)
    )
    return NeuralCollapse(
        within_over_between=within / (lengths.square().sum() / class_count),
        spread_of_lengths=variance.sqrt() / mean_length,
        angle_error=ratio(errors.sum(), is_pair.sum()),
        duality_error=(head_direction - means_direction).norm(),
    )
