"""What this book's runs log: groups of measurements, made of ``grokbook.metrics``.

`claimbook.observing` says what an observable is and what it may read, and explains the
arguments of its decorator. Each takes the snapshot of one member and returns tensors ()
by the name of their column; its docstring says what they are. A value with a NaN in
what it is computed of is NaN.
"""

from collections.abc import Mapping
from functools import partial

import torch
from torch import Tensor, nn

from claimbook.errors import BookError, choose
from claimbook.observing import (
    VARIANTS,
    Snapshot,
    SplitOutputs,
    Values,
    Variant,
    observable,
)
from grokbook import metrics, models
from grokbook.metrics import ratio


def unit_inputs(network: models.Transformer) -> dict[str, Variant]:
    """Return two variants of a network in which the input of every MLP has unit length.

    Their training losses are SR-train of Singh et al. (2026), section 4.1. "sr_train"
    is without the norms before attention and MLP, as in their official code;
    "sr_train_norms_kept" keeps them and takes the unit length after them. An input of
    zeros stays zero. Raises BookError for a network that is no Transformer.
    """
    if not isinstance(network, models.Transformer):
        kind = type(network).__name__
        raise BookError(f"scale_free measures transformers, not {kind}: leave it out")
    taps = [tap for tap in network.places if tap.startswith("mlp_in.")]
    replace = dict.fromkeys(taps, partial(nn.functional.normalize, dim=-1))
    return {
        "sr_train_norms_kept": Variant(network, replace),
        "sr_train": Variant(models.without_norms(network), replace),
    }


VARIANTS["scale_free"] = unit_inputs  # needed by the observable of that name, below


def _splits(s: Snapshot) -> tuple[tuple[str, SplitOutputs], ...]:
    """Return what the network gives on each split, with the name of the split."""
    return ("train", s.train), ("test", s.test)


@observable(
    "train",
    "test",
    averaged=True,
    makes=("train_loss", "train_accuracy", "test_loss", "test_accuracy"),
)
def core(s: Snapshot) -> Values:
    """Mean loss and accuracy on the training set and on the test set.

    A loss is NaN with a NaN among the losses, an accuracy with a NaN among the logits,
    and both without rows.
    """
    values = {}
    for split, outputs in _splits(s):
        values[f"{split}_loss"] = outputs.losses.double().mean()
        values[f"{split}_accuracy"] = metrics.accuracy(outputs.logits, outputs.labels)
    return values


@observable(
    "test",
    averaged=True,
    makes=("test_top5",),
)
def top5(s: Snapshot) -> Values:
    """Share of test samples whose label is among the five largest logits.

    With fewer than five classes it is 1.
    """
    return {"test_top5": metrics.top_accuracy(s.test.logits, s.test.labels, k=5)}


@observable(
    "train",
    averaged=True,
    makes=("collapse_float16", "collapse_float32", "collapse_float64", "zero_loss"),
)
def collapse(s: Snapshot) -> Values:
    """Shares of training samples: with softmax collapse in each dtype, and with loss 0.

    The collapse is that of `metrics.collapse_fraction`. ``zero_loss`` is of the run's
    own loss, which need not be a cross-entropy.
    """
    values = {}
    for name in ("float16", "float32", "float64"):
        share = metrics.collapse_fraction(s.train.logits, dtype=getattr(torch, name))
        values[f"collapse_{name}"] = share
    return values | {"zero_loss": metrics.share(s.train.losses == 0, of=s.train.losses)}


@observable(
    makes=("weight_norm", "norm"),
)
def norms(s: Snapshot) -> Values:
    """L2 norm of all parameters as one vector, and of each, as "norm.<its name>"."""
    values = {"weight_norm": metrics.total_norm(s.params.values())}
    for name, weight in s.params.items():
        values[f"norm.{name}"] = metrics.total_norm([weight])
    return values


@observable(
    "train",
    makes=("mean_top_logit", "mean_gap", "mean_logit_norm"),
)
def logits(s: Snapshot) -> Values:
    """Means over training rows: largest logit, its lead over the next, L2 norm."""
    # (*rows,)
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
    """L2 norm of the gradient, and the shares of two kinds of entries among all.

    ``zero_grad``: the gradient is exactly 0. ``absorbed``: it is not, but the step left
    the weight as it was.
    """
    grads, weights, before = (  # each all entries as one vector
        torch.cat([tensors[name].flatten() for name in s.params])
        for tensors in (s.grads, s.params, s.before)
    )
    is_absorbed = (grads != 0) & (weights == before)
    return {
        "grad_norm": metrics.total_norm([grads]),
        "zero_grad": metrics.share(grads == 0, of=grads),
        # a NaN in either makes the sum NaN, and so the share
        "absorbed": metrics.share(is_absorbed, of=grads + weights),
    }


@observable(
    "step",
    makes=("cos_grad", "cos_update"),
)
def alignment(s: Snapshot) -> Values:
    """Cosines of the weights before the step with two directions.

    ``cos_grad``: with the descent direction -g, for all parameters as one vector and
    for every single one, as "cos_grad.<its name>". ``cos_update``: with the update that
    the step made, for every single parameter. A cosine is 0 where one of the two is.
    """
    weights = s.before
    descent = {name: -s.grads[name] for name in weights}
    joint = metrics.joint_cosine([*weights.values()], [*descent.values()])
    values = {"cos_grad": joint}
    for name, weight in weights.items():
        values[f"cos_grad.{name}"] = metrics.cosine(weight, descent[name])
    for name, weight in weights.items():
        move = s.params[name].double() - weight  # in float64, which rounds less
        values[f"cos_update.{name}"] = metrics.cosine(weight, move)
    return values


@observable(
    "step",
    makes=("update_norm",),
)
def update(s: Snapshot) -> Values:
    """L2 norm of what the last step added, to all parameters as one vector."""
    return {"update_norm": metrics.update_norm(s.before, s.params)}


@observable(
    makes=("fourier", "fourier_no_constant"),
)
def fourier(s: Snapshot) -> Values:
    """Fourier concentration of the embedding, with and without the constant mode.

    All of its tokens but the last are taken for the numbers 0..p-1.
    """
    # raises UnknownName for a network without an embedding
    embedding = choose("parameter of the network", "embedding", s.params)
    p = embedding.shape[-2] - 1  # the last token is the equals sign
    centred = metrics.fourier_concentration(embedding, p=p, skip_constant=True)
    return {
        "fourier": metrics.fourier_concentration(embedding, p=p),
        "fourier_no_constant": centred,
    }


@observable(
    "train",
    "attention.0",
    makes=("entropy", "entropy_last_query"),
)
def attention(s: Snapshot) -> Values:
    """Mean entropy, in nats, of the first layer's attention on the training set.

    ``entropy`` is that of the attention averaged over heads, in the mean over samples
    and queries. ``entropy_last_query`` is that of each head at the last query alone, in
    the mean over samples and heads.
    """
    weights = s.train.taps["attention.0"]  # (batch, heads, queries, keys)
    last_query = weights[:, :, -1:]
    return {
        "entropy": metrics.attention_entropy(weights),
        "entropy_last_query": metrics.attention_entropy(last_query, head_average=False),
    }


@observable(
    "scale_free",
    makes=("sr_train_norms_kept", "sr_train"),
)
def scale_free(s: Snapshot) -> Values:
    """Mean training loss of each of the two variants of ``unit_inputs``."""
    return {name: loss.double().mean() for name, loss in s.variant_losses.items()}


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
    """Effective rank and power-law exponent of the features' Gram eigenvalues.

    Features F are those of a split, (rows, width), and Z = F^T F.
    ``power_law_test_float32`` has the exponent as published, of the square roots of the
    eigenvalues of Z Z^T in float32 (see `metrics.gram_eigenvalues`). Without rows a
    rank is 0 and an exponent NaN.
    """
    values = {}
    for split, outputs in _splits(s):
        eigenvalues = metrics.gram_eigenvalues(outputs.taps["features"])
        values[f"effective_rank_{split}"] = metrics.effective_rank(eigenvalues)
        values[f"power_law_{split}"] = metrics.power_law_exponent(eigenvalues)
    rounded = metrics.gram_eigenvalues(s.test.taps["features"], exact=False)
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
    """Signs of numerical feature inflation and of the collapse before it.

    In the names of columns "head_mean" is W_G, the mean of the head's rows, and
    "feature_mean" is mu_G, the mean of the training features (Liu et al. 2026).
    "mean_cosine" is the cosine of the two and "feature_alignment" the mean cosine of a
    feature with mu_G; both are 0 where such a mean is rounding noise. "class_sum" is
    the mean over rows of the sum over classes of the float32 gradient by the logits,
    which is 0 without rounding. The values of `head_means` and `mean_logits` are part
    of it.
    """
    features = s.train.taps["features"].flatten(0, -2)  # (rows, width)
    mean_head, mean_feature = metrics.global_means(_head(s.params), features)
    margins = metrics.margins(s.train.logits, s.train.labels)
    values = head_means(s) | {
        "feature_mean_norm": torch.linalg.vector_norm(mean_feature),
        "feature_norm": torch.linalg.vector_norm(features.double(), dim=-1).mean(),
    }
    # a W_G that was subtracted, or a mean that batch norm removed, leaves rounding
    # noise, whose direction means nothing; () each
    is_head_noise = values["head_mean_norm"] <= 1e-6 * values["head_norm"]
    is_feature_noise = values["feature_mean_norm"] <= 1e-6 * values["feature_norm"]
    cosine = metrics.cosine(mean_head, mean_feature)
    mean_alignment = metrics.feature_alignment(features)
    return values | {
        "mean_cosine": torch.where(is_head_noise | is_feature_noise, 0.0, cosine),
        "feature_alignment": torch.where(is_feature_noise, 0.0, mean_alignment),
        **mean_logits(s),
        "class_sum": metrics.class_sum(s.train.logits, s.train.labels),
        "smallest_margin": margins.min(),
        "mean_margin": margins.mean(),
    }


@observable("train", "features", makes=("nc",))
def neural_collapse(s: Snapshot) -> Values:
    """Distances of the training features and the head from neural collapse.

    The four columns are those of `metrics.NeuralCollapse`, after "nc.".
    """
    features = s.train.taps["features"].flatten(0, -2)  # (rows, width)
    labels = s.train.labels.flatten()
    distances = metrics.neural_collapse(features, labels, _head(s.params))
    return {f"nc.{name}": value for name, value in distances._asdict().items()}


@observable(
    "train",
    averaged=True,
    makes=("correct_logit", "mean_logit", "residual_mass", "collapsed"),
)
def mean_logits(s: Snapshot) -> Values:
    """Those values of ``inflation`` that are means over training samples.

    They are the label's logit, all logits, the summed probability of the wrong classes,
    and the share of samples whose float32 loss is exactly 0.
    """
    z, labels = s.train.logits, s.train.labels
    return {
        "correct_logit": z.gather(-1, labels[..., None]).double().mean(),
        "mean_logit": z.double().mean(),
        "residual_mass": metrics.residual_mass(z, labels),
        "collapsed": metrics.collapsed(z, labels),
    }


@observable(
    makes=("head_norm", "head_mean_norm"),
)
def head_means(s: Snapshot) -> Values:
    """Those values of ``inflation`` that need the head alone."""
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
    """How far the last step moved an entry of the head, in mean and median.

    ``head_gradient`` is the mean size of the gradient's entries there.
    """
    # (classes, width), of each entry
    sizes = (_head(s.params).double() - _head(s.before).double()).abs()
    return {
        "head_update": sizes.mean(),
        "head_update_median": metrics.median(sizes),
        "head_gradient": _head(s.grads).abs().double().mean(),
    }


def _head(params: Mapping[str, Tensor]) -> Tensor:
    """Return the head's weights (classes, width): the last matrix of the parameters.

    In a network whose head is the embedding this is another matrix. Raises IndexError
    without any matrix.
    """
    return [w for w in params.values() if w.dim() == 2][-1]


@observable(
    "objective",
    mapped=False,
    makes=("sharpness",),
)
def sharpness(s: Snapshot) -> Values:
    """Largest eigenvalue of the training objective's Hessian, NaN if it is not finite.

    See `metrics.largest_eigenvalue`, whose 50 products may give a lower bound.
    """
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
    """Largest eigenvalue of the objective's Hessian, preconditioned as AdamW does.

    The preconditioner is sqrt(v_hat) + eps, see `metrics.largest_eigenvalue`.
    """
    weights, function = s.objective()
    value = metrics.largest_eigenvalue(function, weights, preconditioner=s.moments)
    return {"preconditioned_sharpness": value}


@observable(
    "objective",
    mapped=False,
    makes=("hessian_trace",),
)
def curvature(s: Snapshot) -> Values:
    """Hutchinson's estimate of the trace of the objective's Hessian, of 20 probes."""
    weights, function = s.objective()
    return {
        "hessian_trace": metrics.probe_values(function, weights, probe_count=20).mean()
    }


@observable(
    "objective",
    mapped=False,
    makes=("probe",),
)
def probes(s: Snapshot) -> Values:
    """500 single probes of the trace that ``curvature`` estimates, "probe.0" and so on.

    The first 20 are those of ``curvature``.
    """
    weights, function = s.objective()
    values = metrics.probe_values(function, weights, probe_count=500)
    return {f"probe.{index}": value for index, value in enumerate(values)}


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
    """Radial energy of gradients, and radii of activations, where a penalty may act.

    These taps are the pre-activations and the outputs of attention and MLP, each with
    columns of its own. The energy (Tiwari et al. 2026) is that of the gradient of the
    loss and of the total objective, averaged over rows in each way of
    `metrics.radial_energy`. ``radius`` is the mean length of a row of activations, and
    ``shared_direction`` is `metrics.shared_direction`.
    """
    values = {}
    for objective in ("loss", "total"):
        tap_grads = s.tap_grads(total=objective == "total")
        for tap, (activations, grads) in tap_grads.items():
            if not tap.startswith(("pre.", "attention_out.", "mlp_out.")):
                continue
            h, g = activations.flatten(0, -2), grads.flatten(0, -2)  # (rows, width)
            for average, energy in metrics.radial_energy(h, g).items():
                values[f"radial_{objective}_{average}.{tap}"] = energy
            if objective == "loss":  # activations are the same for both
                lengths = torch.linalg.vector_norm(h.double(), dim=-1)
                values[f"radius.{tap}"] = lengths.mean()
                values[f"shared_direction.{tap}"] = metrics.shared_direction(h)
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

    Activations are those before and after the nonlinearity. Each value is taken of all
    rows, training and test, and of the first 256 training rows, or all if fewer
    ("_256"), as they are and with the mean row subtracted ("_centred").
    """
    values = {}
    for tap in _taps(s, "pre.", "hidden."):
        train = s.train.taps[tap].flatten(0, -2).double()
        test = s.test.taps[tap].flatten(0, -2).double()
        all_rows = torch.cat([train, test])
        first_rows = train[:256]
        matrices = {
            "": all_rows,
            "_centred": all_rows - all_rows.mean(0),
            "_256": first_rows,
            "_256_centred": first_rows - first_rows.mean(0),
        }
        for kind, matrix in matrices.items():
            squares = metrics.gram_eigenvalues(matrix)  # of the singular values
            effective_rank = metrics.effective_rank(squares.sqrt())
            values[f"largest_singular{kind}.{tap}"] = squares[0].sqrt()
            values[f"stable_rank{kind}.{tap}"] = metrics.stable_rank(squares)
            values[f"effective_rank{kind}.{tap}"] = effective_rank
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
    """How periodic the hidden activations of a network on all pairs (a, b) mod p are.

    The energy of a frequency is the variance that the neurons of a layer have in its
    modes, see ``metrics.Waves``. By layer: ``coherence`` is the median, over neurons
    that vary, of the share of a neuron's variance at its best frequency; ``fit`` is the
    energy of all frequencies over the total variance; ``frequencies`` is the effective
    number of frequencies among which the energy is spread; ``largest_mode`` is
    ``Waves.largest``. For each frequency in the last layer: ``energy_of_frequency`` is
    its energy over the total variance, ``best_fit_of_frequency`` its largest share of
    the variance of a neuron. All are 0 for a layer in which no neuron varies. p is the
    number of classes. Raises ValueError unless both splits together are all pairs.
    """
    pairs = torch.cat([s.train.inputs, s.test.inputs])
    values: Values = {}
    layers = _taps(s, "hidden.")
    for layer in layers:
        activations = torch.cat([s.train.taps[layer], s.test.taps[layer]])
        waves = metrics.waves(activations, pairs, p=s.train.logits.shape[-1])
        # (neurons that vary,)
        best_share_of_neuron = waves.product.max(dim=1).values[waves.variance != 0]
        total_variance = waves.variance.sum()
        # (frequencies,), summed over neurons
        energies = (waves.product * waves.variance[:, None]).sum(dim=0)
        if len(best_share_of_neuron):
            coherence = metrics.median(best_share_of_neuron)
        else:  # no neuron varies
            coherence = torch.zeros_like(total_variance)
        values[f"coherence.{layer}"] = coherence
        values[f"fit.{layer}"] = ratio(energies.sum(), total_variance)
        # the ratio squares what it is given
        values[f"frequencies.{layer}"] = metrics.participation_ratio(energies.sqrt())
        values[f"largest_mode.{layer}"] = waves.largest
        if layer == layers[-1]:
            for k, energy in enumerate(energies):
                values[f"energy_of_frequency.{k + 1}"] = ratio(energy, total_variance)
                values[f"best_fit_of_frequency.{k + 1}"] = waves.product[:, k].max()
    return values


def _taps(s: Snapshot, *prefixes: str) -> list[str]:
    """Return the names of those training taps that begin with one of the prefixes."""
    return [name for name in s.train.taps if name.startswith(prefixes)]


@observable(
    "train",
    "test",
    "hidden",
    mapped=False,
    makes=("train_trace", "train_fisher_trace", "test_trace", "test_fisher_trace"),
)
def exact_trace(s: Snapshot) -> Values:
    """Exact traces of the cross-entropy's Hessian and Fisher, on each split.

    They are right for a ReLU MLP without norms that reads a one-hot vector for every
    token, which is not checked; see `metrics.relu_trace`.
    """
    # of all layers but the first, in order
    weights = [w for name, w in s.params.items() if name.endswith(".weight")][1:]
    values = {}
    for split, outputs in _splits(s):
        row_count, token_count = outputs.inputs.shape
        # the squared length of an input: each of its one-hot vectors adds 1
        squared_lengths = outputs.inputs.new_full(
            [row_count], token_count, dtype=torch.float64
        )
        trace = metrics.relu_trace(
            squared_lengths,
            weights,
            [outputs.taps[tap] for tap in _taps(s, "hidden.")],
            outputs.logits,
            outputs.labels,
            bias="layers.0.bias" in s.params,
        )
        values[f"{split}_trace"] = trace.hessian
        values[f"{split}_fisher_trace"] = trace.fisher
    return values


@observable(
    "train",
    "test",
    averaged=True,
    makes=("train_exact", "test_exact"),
)
def exact_match(s: Snapshot) -> Values:
    """Share of sequences in which every position is predicted correctly.

    It is NaN with a NaN among the logits of a split, or without rows.
    """
    values = {}
    for split, outputs in _splits(s):
        is_correct = outputs.logits.argmax(dim=-1) == outputs.labels
        # (rows, positions), of one position where a row has a single label
        is_exact = is_correct.unsqueeze(-1).flatten(1).all(dim=1)
        values[f"{split}_exact"] = metrics.share(is_exact, of=outputs.logits)
    return values
