"""What is run, as frozen data that turns into JSON and needs no torch.

An ``Experiment`` is a set of ``Arm``s (the curves of a figure) and a set of seeds; a
*member* is one arm with one seed, and a ``Result`` is what its training left behind.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from claimbook import canonical

SCALES = ("paper", "laptop", "smoke")  # best evidence first
# Fields of an arm that say how it is called and looked at, not what is trained.
LOOKS = {"name", "log", "observables", "rarely", "keep", "keep_dtype", "keep_seeds"}
LOOKS |= {"trace", "eval_batch", "through_nan", "batch_statistics"}


@dataclass(frozen=True, init=False)
class Spec:
    """A named function or class and its options: ``Spec("mlp", widths=(200, 200))``."""

    name: str
    options: dict[str, Any]

    def __init__(self, name: str, **options: Any):
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "options", options)


@dataclass(frozen=True)
class Arm:
    """Settings of one curve. An epoch is one optimizer step.

    First what is trained. ``batch_size``: rows of a step, all by default, drawn from
    (seed, step). ``alpha`` multiplies the logits, ``init_scale`` the initial weights.
    ``penalties`` are added to the loss; ``wrappers`` act on gradients or weights around
    a step. ``later_loss``: (epoch, Spec), takes the place of ``loss`` from then on.
    ``schedule``: factor on the learning rate. ``stop``: test accuracy at which a member
    may end early, at one of its looks, which then is its last; with ``after_stop`` it
    goes on for at least so many epochs more, whatever its accuracy does there.
    ``autocast``: dtype of matrix products and logits beside weights in ``dtype``.

    Then what is looked at (``LOOKS``). ``log``: every so many epochs, or ((until,
    every), ...) for a dense start; the first and the last always. ``rarely``: (every,
    observables), at epochs that are logged even where ``log`` skips them. ``keep``:
    epochs whose weights are stored, in ``keep_dtype`` and for ``keep_seeds`` if given.
    ``trace``: keep the loss of every step. ``eval_batch``: rows of each split that are
    evaluated at a time. ``through_nan``: a loss that becomes NaN is recorded and does
    not end the training. ``batch_statistics``: on the training split batch norm reads
    those of its rows, as in a step.
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
    after_stop: int = 0
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

    def logged_epochs(self) -> list[int]:
        """The epochs at which this arm is looked at, ascending, 0 and last included."""
        pieces = ((self.epochs, self.log),) if isinstance(self.log, int) else self.log
        chosen, start = {0, self.epochs} | self.rare_epochs(), 0
        for until, every in pieces:
            chosen.update(range(start, min(until, self.epochs) + 1, every))
            start = until
        return sorted(chosen)

    def rare_epochs(self) -> set[int]:
        """The epochs at which the observables of ``rarely`` are measured as well."""
        if self.rarely is None:
            return set()
        every, _ = self.rarely
        return {*range(0, self.epochs + 1, every), self.epochs}

    def to_json(self) -> dict[str, Any]:
        """Plain data, without fields at their default: new ones change nothing."""
        every = ((f.name, getattr(self, f.name), f.default) for f in fields(self))
        return {name: _plain(v) for name, v, default in every if v != default}

    def training_key(self) -> str:
        """Identity of what is trained, without ``LOOKS``, however it is written."""
        every = self.to_json().items()
        return canonical.key({k: v for k, v in every if k not in LOOKS})

    def hash(self) -> str:
        """Identity of the arm as a whole: what a checkpoint must say to be its own."""
        return canonical.digest(canonical.resolved(self.to_json()))


@dataclass(frozen=True)
class Experiment:
    """Arms, each trained with every seed."""

    name: str
    scale: str
    arms: tuple[Arm, ...]
    seeds: tuple[int, ...]
    reduced: str = ""  # at laptop scale: what was reduced, in words

    def members(self) -> Iterator[tuple[Arm, int]]:
        """Every (arm, seed), seed by seed, so that an interrupted run is balanced."""
        return ((arm, seed) for seed in self.seeds for arm in self.arms)

    def arm(self, name: str) -> Arm:
        """The arm of that name, else KeyError."""
        return {arm.name: arm for arm in self.arms}[name]

    def to_json(self) -> dict[str, Any]:
        arms = [arm.to_json() for arm in self.arms]
        return vars(self) | {"seeds": list(self.seeds), "arms": arms}


Member = tuple[Arm, int]


@dataclass
class Result:
    """What one finished member left."""

    arm: Arm
    seed: int
    rows: list[dict[str, float]]  # of observables, one per logged epoch
    kept: dict[int, dict[str, Any]]  # weights by epoch
    seconds: float
    info: dict[str, Any]
    trace: list[float] | None = None  # the loss of every step


def _plain(value: Any) -> Any:
    if isinstance(value, Spec):
        return {"name": value.name, **{k: _plain(v) for k, v in value.options.items()}}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value
