"""What a run logs: named groups of measurements of one training step.

An observable is a function from a ``Snapshot`` to named values, written for one member.
Its decorator says what it reads, so that a look computes nothing else:

    train, test      logits, labels, losses and taps of a split
    step             gradients, and the weights before the step (none at epoch 0)
    moments          AdamW's sqrt(v_hat) + eps, by parameter
    objective        the training loss as a function of the weights, in float64
    tap_grads        activations and gradients of the loss, or of all terms, at the taps
    attention.0, features, hidden, layers   taps of the network, see PLACES

The formulas are in ``grokbook.metrics``. A new observable needs its function here and
nothing else; ``mapped=False`` takes the members of a stack one by one.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._pytree import tree_map

from grokbook import metrics
from grokbook.metrics.shares import ratio

Values = dict[str, Tensor]
# Taps that observables below look at, by how their names begin.
PLACES = {
    "attention.0": ("attention.0",),
    "features": ("features",),
    "hidden": ("hidden",),
    "layers": ("pre", "hidden"),  # before and after the activation
}
# Edges of the histogram of update sizes: twenty bins in a factor of ten.
UPDATE_BINS = tuple(10 ** (k / 20) for k in range(-180, -19))


@dataclass
class Seen:
    """A split as the network sees it; losses (rows,) are the run's own, per sample."""

    inputs: Tensor
    logits: Tensor
    labels: Tensor
    losses: Tensor
    taps: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass
class Snapshot:
    """One training step as seen at a logging epoch; see the module for who reads what.

    ``params`` after the step and ``before`` it, ``grads`` the raw gradients of the
    training objective at ``before``. Of a stack every tensor has a member axis, and
    ``objective`` and ``tap_grads`` take the member's number first.
    """

    params: Mapping[str, Tensor]
    before: Mapping[str, Tensor] = field(default_factory=dict)
    grads: Mapping[str, Tensor] = field(default_factory=dict)
    moments: Mapping[str, Tensor] = field(default_factory=dict)
    train: Seen = None  # type: ignore[assignment]  # there for who asks for it
    test: Seen = None  # type: ignore[assignment]
    unit_losses: Mapping[str, Tensor] = field(default_factory=dict)
    objective: Callable[..., Any] = None  # type: ignore[assignment]
    tap_grads: Callable[..., Any] = None  # type: ignore[assignment]

    def tensors(self) -> dict[str, Any]:
        """Everything but the functions, as plain dictionaries of tensors."""
        plain = {k: v for k, v in vars(self).items() if k not in _FUNCTIONS}
        for split in ("train", "test"):
            plain[split] = vars(plain[split]) if plain[split] else {}
        return plain

    @staticmethod
    def of_tensors(plain: dict[str, Any]) -> "Snapshot":
        splits = {k: Seen(**plain[k]) for k in ("train", "test") if plain[k]}
        return Snapshot(**plain | dict.fromkeys(("train", "test")) | splits)

    def member(self, k: int) -> "Snapshot":
        """Member ``k`` of a stack, on its own."""
        one = Snapshot.of_tensors(tree_map(lambda leaf: leaf[k], self.tensors()))
        for name in _FUNCTIONS:
            if function := getattr(self, name):
                setattr(one, name, partial(function, k))
        return one


_FUNCTIONS = ("objective", "tap_grads")


@dataclass(frozen=True)
class Observable:
    """A group of measurements, what it reads and how it is taken.

    ``averaged``: an average over batches of rows leaves it exact.
    """

    function: Callable[[Any], Values]
    needs: frozenset[str]
    mapped: bool = True
    averaged: bool = False


OBSERVABLES: dict[str, Observable] = {}


def observable(*needs: str, **how: bool) -> Callable:
    """Register a function under its name; the order here is that of the columns."""

    def register(function: Callable[[Any], Values]) -> Callable[[Any], Values]:
        OBSERVABLES[function.__name__] = Observable(function, frozenset(needs), **how)
        return function

    return register


def of_splits(s: Snapshot, name: str, measure: Callable[[Seen], Tensor]) -> Values:
    """A measurement of both splits, as train_<name> and test_<name>."""
    return {f"{k}_{name}": measure(getattr(s, k)) for k in ("train", "test")}


@observable("train", "test", averaged=True)
def core(s: Snapshot) -> Values:
    return of_splits(s, "loss", lambda seen: seen.losses.double().mean()) | of_splits(
        s, "accuracy", lambda seen: metrics.accuracy(seen.logits, seen.labels)
    )


@observable("train", "test", averaged=True)
def top5(s: Snapshot) -> Values:
    return of_splits(
        s, "top5", lambda seen: metrics.top_accuracy(seen.logits, seen.labels, k=5)
    )


@observable("train", averaged=True)
def collapse(s: Snapshot) -> Values:
    shares = {
        f"collapse_{name}": metrics.collapse_fraction(
            s.train.logits, dtype=getattr(torch, name)
        )
        for name in ("float16", "float32", "float64")
    }
    return shares | {"zero_loss": metrics.zero_fraction(s.train.losses)}


@observable()
def norms(s: Snapshot) -> Values:
    each = {f"norm.{name}": metrics.total_norm([w]) for name, w in s.params.items()}
    return {"weight_norm": metrics.total_norm(s.params.values())} | each


@observable("train")
def logits(s: Snapshot) -> Values:
    lengths = torch.linalg.vector_norm(s.train.logits.double(), dim=-1)
    return {
        "max_logit": s.train.logits.max().double(),
        "mean_top_logit": metrics.top_logit(s.train.logits),
        "mean_gap": metrics.top_gap(s.train.logits),
        "mean_logit_norm": lengths.mean(),
    }


@observable("step")
def gradients(s: Snapshot) -> Values:
    grads = torch.cat([s.grads[name].flatten() for name in s.params])
    still = [(s.params[name] == s.before[name]).flatten() for name in s.params]
    return {
        "grad_norm": metrics.total_norm([grads]),
        "zero_grad": metrics.zero_fraction(grads),
        "absorbed": metrics.share((grads != 0) & torch.cat(still)),
    }


@observable("step")
def alignment(s: Snapshot) -> Values:
    weights = list(s.before.values())
    downhill = [-s.grads[name] for name in s.before]
    updates = [s.params[name].double() - w.double() for name, w in s.before.items()]
    values = {}
    for kind, directions in (("cos_grad", downhill), ("cos_update", updates)):
        values[kind] = metrics.joint_cosine(weights, directions)
        for name, weight, direction in zip(s.before, weights, directions, strict=True):
            values[f"{kind}.{name}"] = metrics.cosine(weight, direction)
    return values


@observable("step")
def update(s: Snapshot) -> Values:
    return {"update_norm": metrics.update_norm(s.before, s.params)}


@observable()
def fourier(s: Snapshot) -> Values:
    embedding = s.params["embedding"]
    p = embedding.shape[-2] - 1  # the last token is the equals sign
    concentration = metrics.fourier_concentration
    return {
        "fourier": concentration(embedding, p=p),
        "fourier_no_constant": concentration(embedding, p=p, skip_constant=True),
    }


@observable("train", "attention.0")
def attention(s: Snapshot) -> Values:
    weights = s.train.taps["attention.0"]  # of the first block
    entropy = metrics.attention_entropy
    return {
        "entropy": entropy(weights),
        "entropy_per_head": entropy(weights, head_average=False),
        "entropy_last_query": entropy(weights[:, :, -1:], head_average=False),
    }


@observable("scale_free")
def scale_free(s: Snapshot) -> Values:
    columns = {"no norms": "sr_train", "norms kept": "sr_train_norms_kept"}
    return {columns[k]: v.double().mean() for k, v in s.unit_losses.items()}


@observable("train", "test", "features", mapped=False)
def spectrum(s: Snapshot) -> Values:
    values = {}
    for split, seen in (("train", s.train), ("test", s.test)):
        for precision, is_exact in (("", True), ("_float32", False)):
            sizes = metrics.gram_eigenvalues(seen.taps["features"], exact=is_exact)
            name = f"{split}{precision}"
            values[f"effective_rank_{name}"] = metrics.effective_rank(sizes)
            values[f"power_law_{name}"] = metrics.power_law_exponent(sizes)
    return values


@observable("train", "features")
def inflation(s: Snapshot) -> Values:
    """Numerical feature inflation of Liu et al. 2026, and the collapse before it."""
    logits, labels = s.train.logits, s.train.labels
    features = s.train.taps["features"]
    features = features.reshape(-1, features.shape[-1])
    head_mean, feature_mean = metrics.global_means(_head(s.params), features)
    of_head = head_means(s)
    cosine = metrics.cosine(head_mean, feature_mean)
    feature_norm = torch.linalg.vector_norm(features.double(), dim=-1).mean()
    feature_mean_norm = torch.linalg.vector_norm(feature_mean)
    # of a W_G that was subtracted, or a mean that batch norm took away, there is
    # rounding left, which has no direction
    has_head = of_head["head_mean_norm"] > 1e-6 * of_head["head_norm"]
    has_feature = feature_mean_norm > 1e-6 * feature_norm
    alignment = metrics.feature_alignment(features)
    margins = metrics.margins(logits, labels)
    return {
        **of_head,
        "feature_mean_norm": feature_mean_norm,
        "feature_norm": feature_norm,
        "mean_cosine": torch.where(has_head & has_feature, cosine, 0.0),
        "feature_alignment": torch.where(has_feature, alignment, 0.0),
        **mean_logits(s),
        "class_sum": metrics.class_sum(logits, labels),
        "smallest_margin": margins.min(),
        "mean_margin": margins.mean(),
    }


@observable("train", averaged=True)
def mean_logits(s: Snapshot) -> Values:
    """What of ``inflation`` is a mean over samples, and so goes batch by batch."""
    logits, labels = s.train.logits, s.train.labels
    return {
        "correct_logit": metrics.correct_logit(logits, labels),
        "mean_logit": logits.double().mean(),
        "residual_mass": metrics.residual_mass(logits, labels),
        "collapsed": metrics.collapsed(logits, labels, torch.float32),
    }


@observable()
def head_means(s: Snapshot) -> Values:
    """What of ``inflation`` is of the head alone."""
    head = _head(s.params)
    return {
        "head_norm": metrics.total_norm([head]),
        "head_mean_norm": torch.linalg.vector_norm(head.double().mean(dim=0)),
    }


@observable("step")
def head_update(s: Snapshot) -> Values:
    """Sizes of the last step of the head's weights and of their gradients."""
    sizes = _head_steps(s)
    grads = _head(s.grads).abs()
    return {
        "head_update": sizes.mean(),
        "head_update_median": sizes.median(),
        "head_update_largest": sizes.max(),
        "head_gradient": grads.double().mean(),
        "head_gradient_largest": grads.double().max(),
    }


@observable("step")
def head_update_histogram(s: Snapshot) -> Values:
    """Shares of the head's weights by the size of their last step (UPDATE_BINS)."""
    sizes = _head_steps(s).flatten()
    edges = torch.tensor(UPDATE_BINS, dtype=sizes.dtype, device=sizes.device)
    below = (sizes[:, None] < edges).double().mean(dim=0)  # share below each edge
    shares = below[1:] - below[:-1]
    return {"update_below": below[0]} | {
        f"update_bin.{k}": share for k, share in enumerate(shares.unbind())
    }


def _head(params: Mapping[str, Tensor]) -> Tensor:
    """The weights (classes, width) of a network's last layer: its last matrix."""
    return [w for w in params.values() if w.dim() == 2][-1]


def _head_steps(s: Snapshot) -> Tensor:
    """Sizes of the last step of the head's weights, in float64."""
    return (_head(s.params).double() - _head(s.before).double()).abs()


@observable("objective", mapped=False)
def sharpness(s: Snapshot) -> Values:
    return _largest(s, "sharpness")


def _largest(s: Snapshot, name: str, **how: Any) -> Values:
    """The largest eigenvalue of the objective's Hessian, and its error."""
    weights, function = s.objective()
    found = metrics.largest_eigenvalue(function, weights, **how)
    return {name: found.value, f"{name}_error": found.error}


@observable("objective", mapped=False)
def curvature(s: Snapshot) -> Values:
    weights, function = s.objective()
    trace = metrics.hutchinson_trace(function, weights, probes=20)
    traces = {"hessian_trace": trace.mean, "hessian_trace_error": trace.error}
    return sharpness(s) | traces


@observable("objective", "moments", "step", mapped=False)
def adam_curvature(s: Snapshot) -> Values:
    return _largest(s, "preconditioned_sharpness", preconditioner=s.moments)


@observable("tap_grads", mapped=False)
def radial(s: Snapshot) -> Values:
    """Radii, and the radial energy of Tiwari et al. 2026, at the taps of a penalty."""
    values = {}
    for total in (False, True):
        for name, (h, g) in s.tap_grads(total=total).items():
            if not name.startswith(("pre.", "attention_out.", "mlp_out.")):
                continue
            h, g = (t.reshape(-1, t.shape[-1]) for t in (h, g))
            kind = "total" if total else "loss"
            for reading, value in metrics.radial_energy(h, g).items():
                values[f"radial_{kind}_{reading}.{name}"] = value
            if not total:
                lengths = torch.linalg.vector_norm(h.double(), dim=-1)
                values[f"radius.{name}"] = lengths.mean()
                values[f"radius_spread.{name}"] = lengths.std(correction=0)
                values[f"shared_direction.{name}"] = metrics.shared_direction(h)
    return values


@observable("train", "test", "layers", mapped=False)
def ranks(s: Snapshot) -> Values:
    """Largest singular value and two ranks of every hidden layer's activations.

    Of all rows and of 256 training rows, as they are and centred.
    """
    values = {}
    for name in s.train.taps:
        if not name.startswith(("pre.", "hidden.")):
            continue
        train, test = (
            seen.taps[name].flatten(0, -2).double() for seen in (s.train, s.test)
        )
        for rows, matrix in (("", torch.cat([train, test])), ("_256", train[:256])):
            for kind, taken in (("", matrix), ("_centred", matrix - matrix.mean(0))):
                eigenvalues = metrics.gram_eigenvalues(taken)
                singular = eigenvalues.sqrt()
                which = f"{rows}{kind}.{name}"
                values[f"largest_singular{which}"] = singular[0]
                values[f"stable_rank{which}"] = metrics.stable_rank(eigenvalues)
                values[f"effective_rank{which}"] = metrics.effective_rank(singular)
    return values


@observable("train", "test", "hidden", mapped=False)
def periodic(s: Snapshot) -> Values:
    """How periodic the hidden layers of a network on pairs are, ``metrics.waves``.

    By layer, over its live neurons; by frequency for the last layer.
    """
    pairs = torch.cat([s.train.inputs, s.test.inputs])
    p = s.train.logits.shape[-1]
    if pairs.is_floating_point() or pairs.shape != (p * p, 2) or p < 7 or p % 2 == 0:
        raise ValueError("periodic is of all pairs of tokens below an odd p from 7 on")
    values: Values = {}
    for name in s.train.taps:
        if not name.startswith("hidden."):
            continue
        both = torch.cat([s.train.taps[name], s.test.taps[name]])
        found = metrics.waves(both, pairs, s.train.logits.shape[-1])
        live = found.variance > 0
        every = found.variance.sum()
        best = found.product.max(dim=1).values
        by_frequency = (found.product * found.variance[:, None]).sum(dim=0)
        two = found.selectivity.topk(2, dim=1).values
        counts = torch.bincount(
            found.selectivity[live].argmax(dim=1), minlength=len(by_frequency)
        )
        additive = (found.additive * found.variance[:, None]).sum()
        layer = {
            "live": metrics.share(live),
            "coherence": _median(best[live]),
            "coherent": metrics.share(best[live] > 0.9),
            "fit": ratio(by_frequency.sum(), every),
            "fit_additive": ratio(additive, every),
            "frequencies": metrics.participation_ratio(by_frequency.sqrt()),
            "largest_mode": found.largest,
            "selectivity": _median(two[live, 0]),
            "second_selectivity": _median(two[live, 1] / two[live, 0].clamp(min=1e-30)),
            "frequencies_of_four": (counts >= 4).sum().double(),
            "top_three": ratio(counts.topk(3).values.sum().double(), live.sum()),
        }
        values |= {f"{key}.{name}": value for key, value in layer.items()}
    for k in range(len(by_frequency)):
        values[f"energy_of_frequency.{k + 1}"] = ratio(by_frequency[k], every)
        values[f"best_fit_of_frequency.{k + 1}"] = found.product[:, k].max()
        values[f"neurons_of_frequency.{k + 1}"] = counts[k].double()
    return values


def _median(values: Tensor) -> Tensor:
    """Median, and 0 of nothing."""
    return values.median() if len(values) else values.new_zeros(())


@observable("train", "test", "hidden", mapped=False)
def exact_trace(s: Snapshot) -> Values:
    """Exact trace of the loss' Hessian on both splits, of a ReLU MLP without norms."""
    names = [n for n in s.params if n.endswith(".weight")]
    wanted = F.cross_entropy(s.train.logits.double(), s.train.labels, reduction="none")
    is_plain = all(name.startswith("layers.") for name in s.params) and all(
        torch.allclose(seen.double(), told.double(), 1e-3, 1e-3)
        for seen, told in ((s.train.logits, _relu_mlp(s)), (s.train.losses, wanted))
    )
    if not is_plain:
        raise ValueError("exact_trace is of a ReLU MLP's plain cross-entropy")
    weights = [s.params[name] for name in names[1:]]
    values = {}
    for name, split in (("train", s.train), ("test", s.test)):
        x = split.inputs
        if x.is_floating_point():
            squares = x.flatten(1).square().sum(dim=1)
        else:  # one-hots, one for every token
            squares = x.new_full(x.shape[:1], x.shape[1], dtype=torch.float64)
        hidden = [t for n, t in split.taps.items() if n.startswith("hidden.")]
        bias = [f"layers.{k}.bias" in s.params for k in range(len(names))]
        found = metrics.relu_trace(
            squares, weights, hidden, split.logits, split.labels, bias=bias
        )
        values[f"{name}_trace"] = found.hessian
        values[f"{name}_fisher_trace"] = found.fisher
    return values


def _relu_mlp(s: Snapshot) -> Tensor:
    """Training logits of weights ``layers.<k>`` with nothing but ReLU between them."""
    x, h = s.train.inputs, s.train.inputs.flatten(1)
    if not x.is_floating_point():
        size = s.params["layers.0.weight"].shape[1] // x.shape[1]
        h = F.one_hot(x, size).flatten(1)
    names = [n for n in s.params if n.endswith(".weight")]
    for k, name in enumerate(names):
        h = (h.relu() if k else h).to(s.params[name].dtype) @ s.params[name].T
        h = h + s.params.get(f"layers.{k}.bias", 0.0)
    return h


@observable("objective", mapped=False)
def probes(s: Snapshot) -> Values:
    """Single Hutchinson probes of the trace of the objective's Hessian, 500 of them."""
    weights, function = s.objective()
    found = metrics.probe_values(function, weights, probes=500)
    return {f"probe.{k}": value for k, value in enumerate(found)}


@observable("train", "test", averaged=True)
def exact_match(s: Snapshot) -> Values:
    """Share of sequences of which every position is right."""

    def whole(seen: Seen) -> Tensor:
        is_right = seen.logits.argmax(dim=-1) == seen.labels
        return metrics.share(is_right.reshape(len(is_right), -1).all(dim=1))

    return of_splits(s, "exact", whole)


def places(needs: Iterable[str], known: Iterable[str]) -> list[str]:
    """The taps among those of a network that observables with these needs look at."""
    beginnings = tuple(
        f"{begin}." for need in sorted(needs) for begin in PLACES.get(need, ())
    )
    return [place for place in known if f"{place}.".startswith(beginnings)]


def needs(names: Iterable[str]) -> set[str]:
    """What some observables read, all together."""
    return {part for name in names for part in OBSERVABLES[name].needs}


def observe(
    snapshot: Snapshot, names: Iterable[str], *, stacked: bool = False
) -> Values:
    """The named observables of a snapshot: 0-dim tensors, (members,) of a stack."""
    ordered = [name for name in OBSERVABLES if name in set(names)]

    def measure(one: Snapshot, names: list[str]) -> Values:
        found = (OBSERVABLES[name].function(one) for name in names)
        return {k: v for group in found for k, v in group.items()}

    if not stacked:
        return measure(snapshot, ordered)
    mapped = [name for name in ordered if OBSERVABLES[name].mapped]
    rest = [name for name in ordered if name not in mapped]
    values: Values = {}
    if mapped:
        values = torch.func.vmap(lambda t: measure(Snapshot.of_tensors(t), mapped))(
            snapshot.tensors()
        )
    if rest:
        members = len(next(iter(snapshot.params.values())))
        every = [measure(snapshot.member(k), rest) for k in range(members)]
        values |= {n: torch.stack([one[n] for one in every]) for n in every[0]}
    return values
