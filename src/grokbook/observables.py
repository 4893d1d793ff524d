"""What a run logs: named groups of measurements of one training step.

``OBSERVABLES`` maps a name to a function from a ``Snapshot`` to named values, and
``observe`` evaluates several. The formulas are in ``metrics`` and ``features``; what a
snapshot must hold for a group beyond logits and weights is said by the three sets.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_unflatten

from grokbook import features, metrics

NEED_A_STEP = {"gradients", "alignment", "update"}  # there is none before the first
NEED_CAPTURE = {"attention", "spectrum"}
NEED_UNIT_INPUT = {"scale_free"}
_NOT_MAPPED = {"spectrum"}  # members one after the other: torch.func.vmap cannot


@dataclass
class Snapshot:
    """One training step as seen at a logging epoch.

    ``params`` after the step and ``before`` it, ``grads`` the raw gradients of the
    training loss at ``before`` (same keys, same shapes); logits (batch, classes),
    labels (batch,) and per-sample losses (batch,) of the run's own loss, evaluated
    after the step. ``train_captured`` and ``test_captured``: what the network leaves in
    its capture dictionary; ``unit_losses``: training losses (batch,) by ``unit_input``.
    For ``stacked`` use every tensor has a leading member dimension.
    """

    params: dict[str, Tensor]
    before: dict[str, Tensor]
    grads: dict[str, Tensor]
    train_logits: Tensor
    train_labels: Tensor
    train_losses: Tensor
    test_logits: Tensor
    test_labels: Tensor
    test_losses: Tensor
    train_captured: dict[str, Any] = field(default_factory=dict)
    test_captured: dict[str, Any] = field(default_factory=dict)
    unit_losses: dict[str, Tensor] = field(default_factory=dict)


def _core(s: Snapshot) -> dict[str, Tensor]:
    return {
        "train_loss": s.train_losses.double().mean(),
        "test_loss": s.test_losses.double().mean(),
        "train_accuracy": metrics.accuracy(s.train_logits, s.train_labels),
        "test_accuracy": metrics.accuracy(s.test_logits, s.test_labels),
    }


def _top5(s: Snapshot) -> dict[str, Tensor]:
    return {
        "train_top5": metrics.top_accuracy(s.train_logits, s.train_labels, k=5),
        "test_top5": metrics.top_accuracy(s.test_logits, s.test_labels, k=5),
    }


def _collapse(s: Snapshot) -> dict[str, Tensor]:
    shares = {
        f"collapse_{name}": metrics.collapse_fraction(
            s.train_logits, dtype=getattr(torch, name)
        )
        for name in ("float16", "float32", "float64")
    }
    return shares | {"zero_loss": metrics.zero_fraction(s.train_losses)}


def _norms(s: Snapshot) -> dict[str, Tensor]:
    each = {f"norm.{name}": metrics.total_norm([w]) for name, w in s.params.items()}
    return {"weight_norm": metrics.total_norm(s.params.values())} | each


def _logits(s: Snapshot) -> dict[str, Tensor]:
    lengths = torch.linalg.vector_norm(s.train_logits.double(), dim=-1)
    return {
        "max_logit": s.train_logits.max().double(),
        "mean_top_logit": metrics.top_logit(s.train_logits),
        "mean_gap": metrics.top_gap(s.train_logits),
        "mean_logit_norm": lengths.mean(),
    }


def _gradients(s: Snapshot) -> dict[str, Tensor]:
    grads = torch.cat([s.grads[name].flatten() for name in s.params])
    still = [(s.params[name] == s.before[name]).flatten() for name in s.params]
    return {
        "grad_norm": metrics.total_norm([grads]),
        "zero_grad": metrics.zero_fraction(grads),
        "absorbed": metrics.share((grads != 0) & torch.cat(still)),
    }


def _alignment(s: Snapshot) -> dict[str, Tensor]:
    weights = list(s.before.values())
    downhill = [-s.grads[name] for name in s.before]
    updates = [s.params[name].double() - w.double() for name, w in s.before.items()]
    values = {}
    for kind, directions in (("cos_grad", downhill), ("cos_update", updates)):
        values[kind] = metrics.joint_cosine(weights, directions)
        for name, weight, direction in zip(s.before, weights, directions, strict=True):
            values[f"{kind}.{name}"] = metrics.cosine(weight, direction)
    return values


def _update(s: Snapshot) -> dict[str, Tensor]:
    return {"update_norm": features.update_norm(s.before, s.params)}


def _fourier(s: Snapshot) -> dict[str, Tensor]:
    embedding = s.params["embedding"]
    p = embedding.shape[-2] - 1  # the last token is the equals sign
    return {
        "fourier": features.fourier_concentration(embedding, p=p),
        "fourier_no_constant": features.fourier_concentration(
            embedding, p=p, skip_constant=True
        ),
    }


def _attention(s: Snapshot) -> dict[str, Tensor]:
    weights = s.train_captured["attention"][0]  # of the first block
    entropy = features.attention_entropy
    return {
        "entropy": entropy(weights),
        "entropy_per_head": entropy(weights, head_average=False),
        "entropy_last_query": entropy(weights[:, :, -1:], head_average=False),
    }


def _scale_free(s: Snapshot) -> dict[str, Tensor]:
    columns = {"no norms": "sr_train", "norms kept": "sr_train_norms_kept"}
    return {columns[k]: v.double().mean() for k, v in s.unit_losses.items()}


def _spectrum(s: Snapshot) -> dict[str, Tensor]:
    values = {}
    for split, captured in (("train", s.train_captured), ("test", s.test_captured)):
        for precision, is_exact in (("", True), ("_float32", False)):
            sizes = features.gram_eigenvalues(captured["features"], exact=is_exact)
            name = f"{split}{precision}"
            values[f"effective_rank_{name}"] = features.effective_rank(sizes)
            values[f"power_law_{name}"] = features.power_law_exponent(sizes)
    return values


OBSERVABLES: dict[str, Callable[[Snapshot], dict[str, Tensor]]] = {
    "core": _core,
    "top5": _top5,
    "collapse": _collapse,
    "norms": _norms,
    "logits": _logits,
    "gradients": _gradients,
    "alignment": _alignment,
    "update": _update,
    "fourier": _fourier,
    "attention": _attention,
    "scale_free": _scale_free,
    "spectrum": _spectrum,
}


def observe(
    snapshot: Snapshot, names: Iterable[str], *, stacked: bool = False
) -> dict[str, Tensor]:
    """The named observables of a snapshot in one dictionary of 0-dim tensors.

    With ``stacked`` every tensor of the snapshot is [members, ...] and every value
    (members,). Raises ValueError for an unknown name.
    """
    names = list(names)
    unknown = [name for name in names if name not in OBSERVABLES]
    if unknown:
        raise ValueError(f"Unknown observables {unknown}, choose of {[*OBSERVABLES]}.")

    def measure(fields: dict[str, Any], names: list[str]) -> dict[str, Tensor]:
        one = Snapshot(**fields)
        return {k: v for name in names for k, v in OBSERVABLES[name](one).items()}

    fields = vars(snapshot)
    if not stacked:
        return measure(fields, names)
    mapped = [name for name in names if name not in _NOT_MAPPED]
    values = torch.func.vmap(lambda f: measure(f, mapped))(fields) if mapped else {}
    rest = [name for name in names if name in _NOT_MAPPED]
    if rest:
        leaves, form = tree_flatten(fields)
        every = [
            measure(tree_unflatten([leaf[k] for leaf in leaves], form), rest)
            for k in range(len(leaves[0]))
        ]
        values |= {k: torch.stack([one[k] for one in every]) for k in every[0]}
    return values
