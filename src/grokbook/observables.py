"""What this book's runs log: groups of measurements, made of ``grokbook.metrics``.

`claimbook.observing` says what an observable is and what it may read.
"""

from collections.abc import Mapping
from functools import partial

import torch
from torch import Tensor, nn

from claimbook.observing import VARIANTS, Snapshot, Values, Variant, observable
from grokbook import metrics, models
from grokbook.metrics import ratio


def unit_inputs(network: models.Transformer) -> dict[str, Variant]:
    """Networks in which the input of every MLP has unit length.

    SR-train of Singh et al. (2026), section 4.1: as in the official code without the
    norms before attention and MLP, and beside it after the block's own norms.
    """
    places = [place for place in network.places if place.startswith("mlp_in.")]
    replace = dict.fromkeys(places, partial(nn.functional.normalize, dim=-1))
    return {
        "sr_train_norms_kept": Variant(network, replace),
        "sr_train": Variant(models.without_norms(network), replace),
    }


VARIANTS["scale_free"] = unit_inputs


@observable(
    "train",
    "test",
    averaged=True,
    makes=("train_loss", "train_accuracy", "test_loss", "test_accuracy"),
)
def core(s: Snapshot) -> Values:
    values = {}
    for split, seen in (("train", s.train), ("test", s.test)):
        values[f"{split}_loss"] = seen.losses.double().mean()
        values[f"{split}_accuracy"] = metrics.accuracy(seen.logits, seen.labels)
    return values


@observable(
    "test",
    averaged=True,
    makes=("test_top5",),
)
def top5(s: Snapshot) -> Values:
    return {"test_top5": metrics.top_accuracy(s.test.logits, s.test.labels, k=5)}


@observable(
    "train",
    averaged=True,
    makes=("collapse_float16", "collapse_float32", "collapse_float64", "zero_loss"),
)
def collapse(s: Snapshot) -> Values:
    values = {}
    for name in ("float16", "float32", "float64"):
        share = metrics.collapse_fraction(s.train.logits, dtype=getattr(torch, name))
        values[f"collapse_{name}"] = share
    return values | {"zero_loss": metrics.share(s.train.losses == 0)}


@observable(
    makes=("weight_norm", "norm"),
)
def norms(s: Snapshot) -> Values:
    each = {f"norm.{name}": metrics.total_norm([w]) for name, w in s.params.items()}
    return {"weight_norm": metrics.total_norm(s.params.values())} | each


@observable(
    "train",
    makes=("mean_top_logit", "mean_gap", "mean_logit_norm"),
)
def logits(s: Snapshot) -> Values:
    lengths = torch.linalg.vector_norm(s.train.logits.double(), dim=-1)
    return {
        "mean_top_logit": s.train.logits.amax(dim=-1).double().mean(),
        "mean_gap": metrics.top_gap(s.train.logits),
        "mean_logit_norm": lengths.mean(),
    }


@observable(
    "step",
    makes=("grad_norm", "zero_grad", "absorbed"),
)
def gradients(s: Snapshot) -> Values:
    grads = torch.cat([s.grads[name].flatten() for name in s.params])
    still = [(s.params[name] == s.before[name]).flatten() for name in s.params]
    return {
        "grad_norm": metrics.total_norm([grads]),
        "zero_grad": metrics.share(grads == 0),
        "absorbed": metrics.share((grads != 0) & torch.cat(still)),
    }


@observable(
    "step",
    makes=("cos_grad", "cos_update"),
)
def alignment(s: Snapshot) -> Values:
    down = {name: -s.grads[name] for name in s.before}
    joint = metrics.joint_cosine([*s.before.values()], [*down.values()])
    each = {f"cos_grad.{n}": metrics.cosine(w, down[n]) for n, w in s.before.items()}
    for n, w in s.before.items():
        each[f"cos_update.{n}"] = metrics.cosine(w, s.params[n].double() - w)
    return {"cos_grad": joint} | each


@observable(
    "step",
    makes=("update_norm",),
)
def update(s: Snapshot) -> Values:
    return {"update_norm": metrics.update_norm(s.before, s.params)}


@observable(
    makes=("fourier", "fourier_no_constant"),
)
def fourier(s: Snapshot) -> Values:
    embedding, measure = s.params["embedding"], metrics.fourier_concentration
    p = embedding.shape[-2] - 1  # the last token is the equals sign
    centred = measure(embedding, p=p, skip_constant=True)
    return {"fourier": measure(embedding, p=p), "fourier_no_constant": centred}


@observable(
    "train",
    "attention.0",
    makes=("entropy", "entropy_last_query"),
)
def attention(s: Snapshot) -> Values:
    weights, entropy = s.train.taps["attention.0"], metrics.attention_entropy
    last = entropy(weights[:, :, -1:], head_average=False)
    return {"entropy": entropy(weights), "entropy_last_query": last}


@observable(
    "scale_free",
    makes=("sr_train_norms_kept", "sr_train"),
)
def scale_free(s: Snapshot) -> Values:
    return {n: losses.double().mean() for n, losses in s.variant_losses.items()}


@observable(
    "train",
    "test",
    "features",
    mapped=False,
    makes=(
        "effective_rank_train",
        "power_law_train",
        "effective_rank_test",
        "power_law_test",
        "power_law_test_float32",
    ),
)
def spectrum(s: Snapshot) -> Values:
    values = {}
    for split, seen in (("train", s.train), ("test", s.test)):
        features = seen.taps["features"]
        sizes = metrics.gram_eigenvalues(features)
        values[f"effective_rank_{split}"] = metrics.effective_rank(sizes)
        values[f"power_law_{split}"] = metrics.power_law_exponent(sizes)
    rounded = metrics.gram_eigenvalues(features, exact=False)
    return values | {"power_law_test_float32": metrics.power_law_exponent(rounded)}


@observable(
    "train",
    "features",
    makes=(
        "head_norm",
        "head_mean_norm",
        "feature_mean_norm",
        "feature_norm",
        "mean_cosine",
        "feature_alignment",
        "correct_logit",
        "mean_logit",
        "residual_mass",
        "collapsed",
        "class_sum",
        "smallest_margin",
        "mean_margin",
    ),
)
def inflation(s: Snapshot) -> Values:
    """Numerical feature inflation of Liu et al. 2026, and the collapse before it."""
    features = s.train.taps["features"].flatten(0, -2)
    head, centre = metrics.global_means(_head(s.params), features)
    margins = metrics.margins(s.train.logits, s.train.labels)
    values = head_means(s) | {
        "feature_mean_norm": torch.linalg.vector_norm(centre),
        "feature_norm": torch.linalg.vector_norm(features.double(), dim=-1).mean(),
    }
    # of a W_G that was subtracted, or a mean that batch norm took away, there is
    # rounding left, which has no direction
    has_head = values["head_mean_norm"] > 1e-6 * values["head_norm"]
    has_mean = values["feature_mean_norm"] > 1e-6 * values["feature_norm"]
    cosine = metrics.cosine(head, centre)
    alignment = metrics.feature_alignment(features)
    return values | {
        "mean_cosine": torch.where(has_head & has_mean, cosine, 0.0),
        "feature_alignment": torch.where(has_mean, alignment, 0.0),
        **mean_logits(s),
        "class_sum": metrics.class_sum(s.train.logits, s.train.labels),
        "smallest_margin": margins.min(),
        "mean_margin": margins.mean(),
    }


@observable("train", "features", makes=("nc",))
def neural_collapse(s: Snapshot) -> Values:
    """Distances of the training features and the head from neural collapse."""
    features = s.train.taps["features"].flatten(0, -2)
    labels = s.train.labels.flatten()
    found = metrics.neural_collapse(features, labels, _head(s.params))
    return {f"nc.{name}": value for name, value in found._asdict().items()}


@observable(
    "train",
    averaged=True,
    makes=("correct_logit", "mean_logit", "residual_mass", "collapsed"),
)
def mean_logits(s: Snapshot) -> Values:
    """What of ``inflation`` is a mean over samples."""
    logits, labels = s.train.logits, s.train.labels
    return {
        "correct_logit": logits.gather(-1, labels[..., None]).double().mean(),
        "mean_logit": logits.double().mean(),
        "residual_mass": metrics.residual_mass(logits, labels),
        "collapsed": metrics.collapsed(logits, labels),
    }


@observable(
    makes=("head_norm", "head_mean_norm"),
)
def head_means(s: Snapshot) -> Values:
    """What of ``inflation`` is of the head alone."""
    head = _head(s.params)
    return {
        "head_norm": metrics.total_norm([head]),
        "head_mean_norm": torch.linalg.vector_norm(head.double().mean(dim=0)),
    }


@observable(
    "step",
    makes=("head_update", "head_update_median", "head_gradient"),
)
def head_update(s: Snapshot) -> Values:
    """Sizes of the last step of the head's weights and of their gradients."""
    sizes = (_head(s.params).double() - _head(s.before).double()).abs()
    return {
        "head_update": sizes.mean(),
        "head_update_median": metrics.median(sizes),
        "head_gradient": _head(s.grads).abs().double().mean(),
    }


def _head(params: Mapping[str, Tensor]) -> Tensor:
    """The weights (classes, width) of the last layer."""
    return [w for w in params.values() if w.dim() == 2][-1]


@observable(
    "objective",
    mapped=False,
    makes=("sharpness",),
)
def sharpness(s: Snapshot) -> Values:
    weights, function = s.objective()
    return {"sharpness": metrics.largest_eigenvalue(function, weights)}


@observable(
    "objective",
    "moments",
    "step",
    mapped=False,
    makes=("preconditioned_sharpness",),
)
def adam_curvature(s: Snapshot) -> Values:
    weights, function = s.objective()
    found = metrics.largest_eigenvalue(function, weights, preconditioner=s.moments)
    return {"preconditioned_sharpness": found}


@observable(
    "objective",
    mapped=False,
    makes=("hessian_trace",),
)
def curvature(s: Snapshot) -> Values:
    """Trace of the objective's Hessian, from 20 of Hutchinson's probes."""
    weights, function = s.objective()
    return {"hessian_trace": metrics.probe_values(function, weights, probes=20).mean()}


@observable(
    "objective",
    mapped=False,
    makes=("probe",),
)
def probes(s: Snapshot) -> Values:
    """Single probes of the same trace, 500 of them."""
    weights, function = s.objective()
    found = metrics.probe_values(function, weights, probes=500)
    return {f"probe.{k}": value for k, value in enumerate(found)}


@observable(
    "tap_grads",
    mapped=False,
    makes=(
        "radial_loss_mean",
        "radial_loss_summed",
        "radial_loss_masked",
        "radius",
        "shared_direction",
        "radial_total_mean",
        "radial_total_summed",
        "radial_total_masked",
    ),
)
def radial(s: Snapshot) -> Values:
    """Radii, and the radial energy of Tiwari et al. 2026, at the taps of a penalty."""
    values = {}
    for kind in ("loss", "total"):
        for name, (h, g) in s.tap_grads(total=kind == "total").items():
            if not name.startswith(("pre.", "attention_out.", "mlp_out.")):
                continue
            h, g = (t.reshape(-1, t.shape[-1]) for t in (h, g))
            for way, energy in metrics.radial_energy(h, g).items():
                values[f"radial_{kind}_{way}.{name}"] = energy
            if kind == "loss":
                lengths = torch.linalg.vector_norm(h.double(), dim=-1)
                values[f"radius.{name}"] = lengths.mean()
                values[f"shared_direction.{name}"] = metrics.shared_direction(h)
    return values


@observable(
    "train",
    "test",
    "pre",
    "hidden",
    mapped=False,
    makes=(
        "largest_singular",
        "stable_rank",
        "effective_rank",
        "largest_singular_centred",
        "stable_rank_centred",
        "effective_rank_centred",
        "largest_singular_256",
        "stable_rank_256",
        "effective_rank_256",
        "largest_singular_256_centred",
        "stable_rank_256_centred",
        "effective_rank_256_centred",
    ),
)
def ranks(s: Snapshot) -> Values:
    """Largest singular value and two ranks of every hidden layer's activations.

    Of all rows and of 256 training rows, as they are and centred.
    """
    values = {}
    for name in _taps(s, "pre.", "hidden."):
        train, test = (x.taps[name].flatten(0, -2).double() for x in (s.train, s.test))
        for rows, matrix in (("", torch.cat([train, test])), ("_256", train[:256])):
            for kind, taken in (("", matrix), ("_centred", matrix - matrix.mean(0))):
                sizes, which = metrics.gram_eigenvalues(taken), f"{rows}{kind}.{name}"
                values[f"largest_singular{which}"] = sizes[0].sqrt()
                values[f"stable_rank{which}"] = metrics.stable_rank(sizes)
                values[f"effective_rank{which}"] = metrics.effective_rank(sizes.sqrt())
    return values


@observable(
    "train",
    "test",
    "hidden",
    mapped=False,
    makes=(
        "coherence",
        "fit",
        "frequencies",
        "largest_mode",
        "energy_of_frequency",
        "best_fit_of_frequency",
    ),
)
def periodic(s: Snapshot) -> Values:
    """How periodic the hidden layers of a network on all pairs are, ``metrics.waves``.

    By layer, over its neurons that vary; by frequency for the last layer.
    """
    pairs = torch.cat([s.train.inputs, s.test.inputs])
    values: Values = {}
    for name in _taps(s, "hidden."):
        both = torch.cat([s.train.taps[name], s.test.taps[name]])
        found = metrics.waves(both, pairs, s.train.logits.shape[-1])
        best = found.product.max(dim=1).values[found.variance > 0]
        every = found.variance.sum()
        by_frequency = (found.product * found.variance[:, None]).sum(dim=0)
        values[f"coherence.{name}"] = metrics.median(best) if len(best) else best.sum()
        values[f"fit.{name}"] = ratio(by_frequency.sum(), every)
        values[f"frequencies.{name}"] = metrics.participation_ratio(by_frequency.sqrt())
        values[f"largest_mode.{name}"] = found.largest
    for k, energy in enumerate(by_frequency):
        values[f"energy_of_frequency.{k + 1}"] = ratio(energy, every)
        values[f"best_fit_of_frequency.{k + 1}"] = found.product[:, k].max()
    return values


def _taps(s: Snapshot, *begins: str) -> list[str]:
    return [name for name in s.train.taps if name.startswith(begins)]


@observable(
    "train",
    "test",
    "hidden",
    mapped=False,
    makes=("train_trace", "train_fisher_trace", "test_trace", "test_fisher_trace"),
)
def exact_trace(s: Snapshot) -> Values:
    """Exact trace of the cross-entropy's Hessian, of a ReLU MLP on tokens, no norms."""
    weights = [w for name, w in s.params.items() if name.endswith(".weight")][1:]
    values = {}
    for name, split in (("train", s.train), ("test", s.test)):
        # of the rows that the network reads: a one-hot of every token
        rows, tokens = split.inputs.shape
        squares = split.inputs.new_full([rows], tokens, dtype=torch.float64)
        hidden = [split.taps[n] for n in _taps(s, "hidden.")]
        seen = (squares, weights, hidden, split.logits, split.labels)
        found = metrics.relu_trace(*seen, bias="layers.0.bias" in s.params)
        values[f"{name}_trace"] = found.hessian
        values[f"{name}_fisher_trace"] = found.fisher
    return values


@observable(
    "train",
    "test",
    averaged=True,
    makes=("train_exact", "test_exact"),
)
def exact_match(s: Snapshot) -> Values:
    """Share of sequences of which every position is right."""
    values = {}
    for split, seen in (("train", s.train), ("test", s.test)):
        right = seen.logits.argmax(dim=-1) == seen.labels
        whole = right.reshape(len(right), -1).all(dim=1)
        values[f"{split}_exact"] = metrics.share(whole)
    return values
