"""What is run: experiments as frozen data, without any code that runs them.

An ``Experiment`` is a set of ``Arm``s (the curves of a figure) and a set of seeds; a
*member* is one arm with one seed, and a ``Result`` is what its training left behind. An
arm names its data set, network, loss and optimizer by ``Spec``: a public name and its
options; ``grokbook.names`` says what they mean. Nothing here trains or needs torch, and
everything turns into JSON, so a record can hold it whole.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

SCALES = ("paper", "laptop", "smoke")  # best evidence first
# Fields of an arm that say how it is called and looked at, not what is trained.
LOOKS = frozenset(
    ["name", "log", "observables", "rarely", "keep", "keep_dtype", "keep_seeds"]
    + ["trace", "eval_batch", "through_nan", "batch_statistics"]
)


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
    """Settings of one curve. An epoch is one optimizer step.

    What is trained:

    ``batch_size``: rows of a step, all of them by default; a batch is drawn from (seed,
    step). ``alpha`` multiplies the logits, ``init_scale`` the initial weights.
    ``wrappers``: what is done to gradients or weights around a step. ``penalties``:
    added to the loss, of anything that a forward pass leaves behind. ``later_loss``:
    (epoch, Spec): from that epoch on, this loss replaces ``loss``. ``schedule``: factor
    on the learning rate.
    ``stop``: test accuracy at which a member may end early, seen at its logged epochs;
    what ``rarely`` measures is measured there too, and where the last epoch is one to
    ``keep`` its weights are.
    ``autocast``: dtype of matrix products and logits beside weights in ``dtype``.

    What is looked at (``LOOKS``; changing it leaves what is trained as it was):

    ``log``: log every so many epochs, or ((until, every), ...) for a dense start; the
    start and the last epoch are always logged. ``rarely``: (every, observables), costly
    ones that are measured at fewer epochs, which are logged even where ``log`` skips
    them. ``keep``: epochs whose weights are stored beside the record, rounded to
    ``keep_dtype`` and for ``keep_seeds`` alone if these are given. ``trace``: keep the
    loss of every step, to four digits. ``eval_batch``: evaluate so many rows at a time,
    as many of the training as of the test set.
    ``through_nan``: a loss that becomes NaN is recorded and does not end the training.
    ``batch_statistics``: the training split is looked at as a step sees it, with batch
    norm reading its statistics, not the running ones; dropout stays off.
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
    stop: float | None = None
    keep: tuple[int, ...] = ()
    keep_dtype: str | None = None
    keep_seeds: tuple[int, ...] | None = None
    observables: tuple[str, ...] = ("core", "collapse", "norms", "logits")
    rarely: tuple[int, tuple[str, ...]] | None = None
    schedule: Spec | None = None
    augment: Spec | None = None
    eval_batch: int | None = None
    trace: bool = False
    through_nan: bool = False
    autocast: str | None = None
    batch_statistics: bool = False

    def __post_init__(self):
        for name in ("epochs", "batch_size", "eval_batch"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"arm {self.name!r}: {name} must be at least 1")

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
        every = {
            one.name: (getattr(self, one.name), one.default) for one in fields(self)
        }
        return {n: _plain(v) for n, (v, default) in every.items() if v != default}

    def training_key(self) -> str:
        """Identity of what is trained: name, looks and observables left out of it."""
        plain = self.to_json()
        return _digest({k: v for k, v in plain.items() if k not in LOOKS})

    def hash(self) -> str:
        """Identity of the arm as a whole: what a checkpoint must say to be its own."""
        return _digest(self.to_json())


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
        return ((arm, seed) for seed in self.seeds for arm in self.arms)

    def arm(self, name: str) -> Arm:
        """The arm of that name; KeyError lists the others."""
        known = {arm.name: arm for arm in self.arms}
        if name not in known:
            raise KeyError(f"{self.name} has no arm {name!r}: {[*known]}")
        return known[name]

    def to_json(self) -> dict[str, Any]:
        arms = [arm.to_json() for arm in self.arms]
        return vars(self) | {"seeds": list(self.seeds), "arms": arms}


Member = tuple[Arm, int]


@dataclass
class Result:
    """One finished member: its series, what it was asked to keep, its cost.

    ``rows``: one dictionary of observables per logged epoch. ``kept``: weights by
    epoch. ``trace``: the loss of every step, where the arm asks for it.
    """

    arm: Arm
    seed: int
    rows: list[dict[str, float]]
    kept: dict[int, dict[str, Any]]
    seconds: float
    info: dict[str, Any]
    trace: list[float] | None = None


def _digest(plain: dict[str, Any]) -> str:
    text = json.dumps(plain, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    if isinstance(value, Spec):
        return {"name": value.name, **{k: _plain(v) for k, v in value.options.items()}}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value
