"""What is run: experiments as frozen data, without any code that runs them.

An ``Experiment`` is a set of ``Arm``s (the curves of a figure) and a set of seeds; a
*member* is one arm with one seed. An arm names its data set, network, loss and
optimizer by ``Spec``: a public name of the module concerned and its options. Nothing
here trains, and everything turns into JSON and back, so a record can hold it whole.
"""

import hashlib
import inspect
import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import torch

from grokbook import (
    corpora,
    datasets,
    images,
    language,
    losses,
    models,
    observables,
    optimizers,
    schedules,
    vision,
)

SCALES = ("paper", "laptop", "smoke")  # best evidence first
# What an arm may name, by the field it names it in.
CHOICES = {
    "dataset": {
        f.__name__: f
        for f in (
            datasets.modular,
            datasets.sparse_parity,
            datasets.mnist,
            datasets.cifar10,
            datasets.cifar100,
            images.image_folder,
            corpora.wikitext,
        )
    },
    "model": {"mlp": models.MLP, "transformer": models.Transformer}
    | {"resnet18": vision.ResNet18, "gpt2": language.GPT2},
    "loss": {
        f.__name__: f
        for f in (
            losses.softmax_cross_entropy,
            losses.exact_cross_entropy,
            losses.stablemax_cross_entropy,
            losses.taylor_cross_entropy,
            losses.mean_squared_error,
            losses.correct_logit_zeroed,
            losses.correct_logit_detached,
        )
    },
    "penalty": {"logit_norm": losses.logit_norm, "l2": losses.l2_penalty},
    "optimizer": {"adamw": optimizers.AdamW, "sgd": optimizers.SGD},
    "wrapper": {
        "orthogonal": optimizers.OrthogonalGradient,
        "gradient_norm_schedule": optimizers.GradientNormSchedule,
    },
    "schedule": {"staircase": schedules.staircase, "cosine": schedules.cosine},
    "augment": {"crop_flip": images.crop_flip},
}
# Observables that an average over batches of rows leaves exact.
AVERAGED = {"core", "top5", "collapse", "norms"}


@dataclass(frozen=True, init=False)
class Spec:
    """A named function or class and its options: ``Spec("mlp", widths=(200, 200))``."""

    name: str
    options: dict[str, Any]

    def __init__(self, name: str, **options: Any):
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "options", options)

    def __str__(self) -> str:
        options = ", ".join(f"{k}={v}" for k, v in self.options.items())
        return f"{self.name}({options})"


@dataclass(frozen=True)
class Arm:
    """Settings of one curve. An epoch is one optimizer step on the full training set.

    ``log``: log every so many epochs, or ((until, every), ...) for a dense start; the
    start and the last epoch are always logged. ``alpha`` multiplies the logits.
    ``later_loss``: (epoch, Spec): from that epoch on, this loss replaces ``loss``.
    ``keep``: epochs whose weights are stored beside the record, rounded to
    ``keep_dtype`` and for ``keep_seeds`` alone if these are given. ``split_seed`` fixes
    the data while the seed varies the rest. ``stop``: test accuracy at which a member
    may end early, seen at its logged epochs. ``rarely``: (every, observables), costly
    ones that are measured at fewer epochs, which are logged even where ``log`` skips
    them. ``eval_batch``: train a member alone, in ``grokbook.minibatch``, and evaluate
    so many rows at a time; then ``schedule`` and ``augment`` are open to it, and an
    epoch is one step on ``batch_size`` rows.
    """

    name: str
    dataset: Spec
    model: Spec
    loss: Spec
    optimizer: Spec
    epochs: int
    log: int | tuple[tuple[int, int], ...]
    wrappers: tuple[Spec, ...] = ()
    penalties: tuple[Spec, ...] = ()
    dtype: str = "float32"
    alpha: float = 1.0
    init_scale: float = 1.0
    batch_size: int | None = None
    later_loss: tuple[int, Spec] | None = None
    split_seed: int | None = None
    stop: float | None = None
    keep: tuple[int, ...] = ()
    keep_dtype: str | None = None
    keep_seeds: tuple[int, ...] | None = None
    observables: tuple[str, ...] = ("core", "collapse", "norms", "logits")
    rarely: tuple[int, tuple[str, ...]] | None = None
    schedule: Spec | None = None
    augment: Spec | None = None
    eval_batch: int | None = None

    def __post_init__(self):
        named = [(kind, getattr(self, kind)) for kind in ("dataset", "model", "loss")]
        named += [("optimizer", self.optimizer)]
        named += [("wrapper", w) for w in self.wrappers]
        named += [("penalty", p) for p in self.penalties]
        named += [("loss", self.later_loss[1])] if self.later_loss else []
        for kind in ("schedule", "augment"):
            named += [(kind, getattr(self, kind))] if getattr(self, kind) else []
        for kind, spec in named:
            _check(self.name, kind, spec)
        self._check_batches()
        if self.epochs < 1:
            raise ValueError(f"arm {self.name!r}: epochs must be at least 1")
        for dtype in filter(None, (self.dtype, self.keep_dtype)):
            if not hasattr(torch, dtype):
                raise ValueError(f"arm {self.name!r}: {dtype!r} is no torch dtype")
        rare = self.rarely[1] if self.rarely else ()
        unknown = {*self.observables, *rare} - set(observables.OBSERVABLES)
        if unknown:
            raise ValueError(f"arm {self.name!r}: no observable {sorted(unknown)}")

    def _check_batches(self) -> None:
        """ValueError for what does not go with training in batches, or without it."""
        if self.eval_batch is None:
            if self.schedule or self.augment:
                raise ValueError(
                    f"arm {self.name!r}: schedule and augment need eval_batch"
                )
            return
        if self.penalties or self.later_loss or self.rarely or self.alpha != 1:
            raise ValueError(
                f"arm {self.name!r}: penalties, later_loss, rarely and alpha do "
                "not go with eval_batch"
            )
        if set(self.observables) - AVERAGED:
            raise ValueError(
                f"arm {self.name!r}: with eval_batch only "
                f"{', '.join(sorted(AVERAGED))} can be observed"
            )

    def logged_epochs(self) -> list[int]:
        """The epochs at which this arm is evaluated, ascending, 0 and last included."""
        pieces = ((self.epochs, self.log),) if isinstance(self.log, int) else self.log
        chosen, start = {0, self.epochs}, 0
        for until, every in pieces:
            chosen.update(range(start, min(until, self.epochs) + 1, every))
            start = until
        return sorted(chosen.union(self.rare_epochs()))

    def rare_epochs(self) -> set[int]:
        """The epochs at which the observables of ``rarely`` are measured as well."""
        if self.rarely is None:
            return set()
        return {*range(0, self.epochs + 1, self.rarely[0]), self.epochs}

    def to_json(self) -> dict[str, Any]:
        """Plain data, without fields at their default: new ones change nothing."""
        plain = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default:
                plain[field.name] = _plain(value)
        return plain

    @staticmethod
    def from_json(plain: dict[str, Any]) -> "Arm":
        return Arm(**{name: _unplain(value) for name, value in plain.items()})

    def hash(self) -> str:
        """Identity of the settings: equal exactly when the same thing is trained."""
        text = json.dumps(self.to_json(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Experiment:
    """What one page shows: its arms, each trained with every seed."""

    name: str
    scale: str
    arms: tuple[Arm, ...]
    seeds: tuple[int, ...]
    reduced: str = ""  # at laptop scale: what was reduced, in words

    def __post_init__(self):
        names = [arm.name for arm in self.arms]
        if len(set(names)) != len(names):
            raise ValueError(f"{self.name}: two arms share a name among {names}")

    def members(self) -> Iterator[tuple[Arm, int]]:
        """Every (arm, seed), seed by seed, so that an interrupted run is balanced."""
        for seed in self.seeds:
            for arm in self.arms:
                yield arm, seed

    def arm(self, name: str) -> Arm:
        """The arm of that name; KeyError lists the others."""
        for arm in self.arms:
            if arm.name == name:
                return arm
        raise KeyError(
            f"{self.name} has no arm {name!r}: {[a.name for a in self.arms]}"
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "scale": self.scale,
            "seeds": list(self.seeds),
            "reduced": self.reduced,
            "arms": [arm.to_json() for arm in self.arms],
        }

    @staticmethod
    def from_json(plain: dict[str, Any]) -> "Experiment":
        return Experiment(
            name=plain["name"],
            scale=plain["scale"],
            arms=tuple(Arm.from_json(arm) for arm in plain["arms"]),
            seeds=tuple(plain["seeds"]),
            reduced=plain["reduced"],
        )


def resolve(kind: str, spec: Spec):
    """The function or class a spec names."""
    return CHOICES[kind][spec.name]


def options(spec: Spec) -> dict[str, Any]:
    """A spec's options with dtype names turned into torch dtypes."""
    return {
        key: getattr(torch, value) if key == "dtype" else value
        for key, value in spec.options.items()
    }


def _check(arm: str, kind: str, spec: Spec) -> None:
    if spec.name not in CHOICES[kind]:
        raise ValueError(
            f"arm {arm!r}: unknown {kind} {spec.name!r}, "
            f"use one of {', '.join(CHOICES[kind])}"
        )
    known = inspect.signature(CHOICES[kind][spec.name]).parameters
    unknown = set(spec.options) - set(known)
    if unknown:
        raise ValueError(
            f"arm {arm!r}: {spec.name} has no option {sorted(unknown)}, "
            f"it takes {', '.join(known)}"
        )


def _plain(value: Any) -> Any:
    if isinstance(value, Spec):
        return {"name": value.name, **{k: _plain(v) for k, v in value.options.items()}}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value


def _unplain(value: Any) -> Any:
    if isinstance(value, dict):
        return Spec(**{k: _unplain(v) for k, v in value.items()})
    if isinstance(value, list):
        return tuple(_unplain(item) for item in value)
    return value
