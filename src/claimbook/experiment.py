"""What is run, as frozen data that turns into JSON and needs no torch.

An ``Experiment`` is a set of ``Arm``s (the curves of a figure) and a set of seeds; a
*member* is one arm with one seed, and a ``Result`` is what its training gave.
"""

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, NamedTuple

from claimbook import canonical
from claimbook.errors import BookError, refuse_text

SCALES = ("paper", "laptop", "smoke")  # best evidence first
DEVICES = ("auto", "cpu", "cuda")
# Fields of an arm that say what it is called and what is measured, not what is trained.
NOT_TRAINED = {
    "name",
    "log",
    "observables",
    "rarely",
    "keep",
    "keep_dtype",
    "keep_seeds",
    "trace",
    "eval_batch",
    "through_nan",
    "batch_statistics",
}
COUNTED = ("classes", "vocabulary")  # options of a network that grow with a modulus
MOST_EPOCHS = 10**9  # that a training may have
MOST_ROWS = 10**6  # that a training may log
# Fields of an arm that are whole numbers, with the least that each may be.
LEAST = {"epochs": 0, "batch_size": 1, "eval_batch": 1, "after_stop": 0}


@dataclass(frozen=True, init=False)
class Spec:
    """The name of a function or class with its options: ``Spec("mlp", bias=False)``."""

    name: str
    options: dict[str, Any]

    def __init__(self, name: str, **options: Any):
        # a frozen class sets a field in this way alone
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "options", options)


class LaterLoss(NamedTuple):
    """The loss that takes the place of an arm's after ``epoch`` steps."""

    epoch: int
    loss: Spec


class Rarely(NamedTuple):
    """Observables that are measured every ``interval`` epochs, and at the last one."""

    interval: int
    observables: tuple[str, ...]


@dataclass(frozen=True)
class Arm:
    """The settings of one curve. An epoch is one optimizer step.

    ``later_loss`` and ``rarely`` may be given as plain tuples. These fields say what is
    trained:

        batch_size   rows of a step, drawn from (seed, step); by default all rows
        alpha        factor on the logits
        init_scale   factor on the initial weights
        penalties    terms that are added to the loss
        wrappers     changes of gradients or weights before or after each step
        later_loss   (epoch, loss): the loss of every step after that epoch
        schedule     factor on the learning rate
        stop         test accuracy at which a member may end early, at a logged epoch
        after_stop   least number of epochs that a member trains after it reached
                     ``stop``, whatever its accuracy does meanwhile
        dtype        of weights and inputs: float16, bfloat16, float32 or float64
        autocast     dtype of matrix products and logits, while weights are in
                     ``dtype``: float16 or bfloat16

    These say what is measured (``NOT_TRAINED``):

        log          logged epochs: every ``log`` epochs, or ((until, interval), ...)
                     for a dense start; epoch 0 and the last are always logged
        rarely       (interval, observables): observables that are measured every so
                     many epochs and at the last one, even if ``log`` skips these
        keep         epochs whose weights are stored: in ``keep_dtype`` and for the
                     members with ``keep_seeds``, if these are given
        trace        whether what each step minimises is stored: the loss of its rows
                     with all penalties, before the step
        eval_batch   rows of a split that are evaluated at a time
        through_nan  whether a member trains on after its loss became NaN
        batch_statistics  whether batch norm uses the statistics of the rows, as in a
                     step, when the training split is measured
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
    later_loss: LaterLoss | None = None
    stop: float | None = None
    after_stop: int = 0
    keep: tuple[int, ...] = ()
    keep_dtype: str | None = None
    keep_seeds: tuple[int, ...] | None = None
    observables: tuple[str, ...] = ("core", "collapse", "norms", "logits")
    rarely: Rarely | None = None
    schedule: Spec | None = None
    augment: Spec | None = None
    eval_batch: int | None = None
    trace: bool = False
    through_nan: bool = False
    autocast: str | None = None
    batch_statistics: bool = False

    def __post_init__(self) -> None:
        """Raise BookError for a number or a text that no training can have.

        Whether names and options exist is not checked here: that needs torch. Raises
        TypeError for a value of another type, and for a ``later_loss`` or ``rarely``
        that is not of two parts.
        """
        if self.later_loss is not None:  # it may be given as a plain tuple
            object.__setattr__(self, "later_loss", LaterLoss(*self.later_loss))
        if self.rarely is not None:
            object.__setattr__(self, "rarely", Rarely(*self.rarely))
        refuse_text("observables", self.observables)
        refuse_text("rarely", self.rare_observables)
        # (what it is called, the number or None if it is off, the least it may be)
        counts = [(name, getattr(self, name), least) for name, least in LEAST.items()]
        pieces = self._log_pieces
        counts += [("an interval of log", interval, 1) for _, interval in pieces]
        counts += [("an epoch of keep", epoch, 0) for epoch in self.keep]
        if self.rarely is not None:
            counts.append(("the interval of rarely", self.rarely.interval, 1))
        if self.later_loss is not None:
            counts.append(("the epoch of later_loss", self.later_loss.epoch, 0))
        for what, number, least in counts:
            is_whole = isinstance(number, int) and number >= least
            if number is not None and not is_whole:
                raise self._number_error(
                    what, number, f"a whole number from {least} on"
                )
        if self.epochs > MOST_EPOCHS:
            raise self._number_error("epochs", self.epochs, f"at most {MOST_EPOCHS:,}")
        start = row_count = 0  # rows that ``log`` asks for, but for the first
        for until, interval in pieces:
            row_count += max(min(until, self.epochs) - start, 0) // interval
            start = until
        if row_count > MOST_ROWS:
            raise self._number_error(
                "log", self.log, f"intervals for {MOST_ROWS:,} rows"
            )
        for field in ("alpha", "init_scale"):
            if not math.isfinite(factor := getattr(self, field)):
                raise self._number_error(field, factor, "a finite number")
        if self.stop is not None and not 0 < self.stop <= 1:
            raise self._number_error(
                "stop", self.stop, "an accuracy, from above 0 to 1"
            )

    def _number_error(self, what: str, number: Any, wanted: str) -> BookError:
        """Return the error that names a refused number and says what to give.

        ``what`` is the setting in words and ``wanted`` what it may be.
        """
        return BookError(f"arm {self.name!r}: {what} is {number!r}: give {wanted}")

    @property
    def _log_pieces(self) -> tuple[tuple[int, int], ...]:
        """``log`` as ((until, interval), ...), whichever of its two forms it has."""
        if isinstance(self.log, int | float):  # a float is refused by `__post_init__`
            return ((self.epochs, self.log),)
        return self.log

    def logged_epochs(self) -> list[int]:
        """Return the epochs at which something is measured, ascending.

        These are 0, the last one, those of ``rarely``, and those of ``log``: none
        between its last ``until`` and the last epoch.
        """
        epochs = {0, self.epochs} | self.rare_epochs()
        start = 0
        for until, interval in self._log_pieces:
            epochs.update(range(start, min(until, self.epochs) + 1, interval))
            start = until
        return sorted(epochs)

    def rare_epochs(self) -> set[int]:
        """Return the epochs at which the observables of ``rarely`` are measured.

        These are the multiples of its interval, 0 included, and the last epoch; none
        if the arm has no ``rarely``.
        """
        if self.rarely is None:
            return set()
        return {*range(0, self.epochs + 1, self.rarely.interval), self.epochs}

    @property
    def rare_observables(self) -> tuple[str, ...]:
        """The observables of ``rarely``; none if the arm has no ``rarely``."""
        return () if self.rarely is None else self.rarely.observables

    def keeps_weights(self, seed: int) -> bool:
        """Return whether the member with this seed stores weights at some epoch."""
        return bool(self.keep) and (self.keep_seeds is None or seed in self.keep_seeds)

    def specs(self) -> Iterator[tuple[str, Spec]]:
        """Yield (name of a field, spec) for each spec of the arm.

        The name of a field with several specs, such as ``penalties``, comes once with
        each of them, and ``later_loss`` comes with its loss.
        """
        for field in canonical.KINDS:
            value = getattr(self, field)
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, Spec):
                    yield field, part

    def as_plain(self) -> dict[str, Any]:
        """Return the arm as a dict of JSON values, by field.

        Fields at their default are left out, so that the dict of an arm stays as it is
        when ``Arm`` gets another field. Raises BookError for a setting that is a
        function, which JSON cannot hold.
        """
        plain = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default:
                plain[field.name] = _plain(value)
        return plain

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> "Arm":
        """Return the arm that ``as_plain`` turned into this dict.

        Raises TypeError for a dict that describes no arm, and BookError for one of an
        arm that no training can have.
        """
        return cls(**{name: _from_plain(value) for name, value in plain.items()})

    @cached_property
    def training_key(self) -> str:
        """The digest of what is trained, 16 hexadecimal digits.

        Arms that train the same share it, and so their records: fields in
        ``NOT_TRAINED`` do not change it, nor do other ways to write the same settings.
        """
        settings = self.as_plain().items()
        return canonical.key({k: v for k, v in settings if k not in NOT_TRAINED})

    def hash(self) -> str:
        """Return the digest of all fields, 16 hexadecimal digits.

        A checkpoint is resumed only by an arm that has the same. Unlike in
        ``training_key``, the name and what is measured count. How the same settings are
        written does not.
        """
        return canonical.digest(canonical.resolved(self.as_plain()))


# A member is one arm with one seed (arm, seed): one network that is trained.
Member = tuple[Arm, int]


@dataclass(frozen=True)
class Experiment:
    """A set of arms, each of which is trained with every seed.

    ``name`` is "<paper>/<id>" and ``scale`` one of ``SCALES``. ``reduced`` says in
    words what is smaller than at paper scale; it is "" at the other scales.
    """

    name: str
    scale: str
    arms: tuple[Arm, ...]
    seeds: tuple[int, ...]
    reduced: str = ""

    def members(self) -> Iterator[Member]:
        """Yield every member (arm, seed), seed by seed.

        All arms come with the first seed, then all with the second: a run in this
        order that is interrupted has about as many seeds of each arm.
        """
        return ((arm, seed) for seed in self.seeds for arm in self.arms)

    def arm(self, name: str) -> Arm:
        """Return the arm of that name; raises KeyError if there is none."""
        return {arm.name: arm for arm in self.arms}[name]

    def as_plain(self) -> dict[str, Any]:
        """Return the experiment as a dict of JSON values, by field."""
        arms = [arm.as_plain() for arm in self.arms]
        return vars(self) | {"seeds": list(self.seeds), "arms": arms}

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> "Experiment":
        """Return the experiment that ``as_plain`` turned into this dict.

        Raises KeyError or TypeError for a dict that describes none, and BookError for
        one with an arm that no training can have.
        """
        arms = tuple(Arm.from_plain(arm) for arm in plain["arms"])
        return cls(**plain | {"seeds": tuple(plain["seeds"]), "arms": arms})


def is_named(arm: Arm, patterns: Collection[str]) -> bool:
    """Return whether the name of an arm fits one of some patterns of `fnmatch`.

    Without patterns every name fits. Upper and lower case differ.
    """
    return any(fnmatchcase(arm.name, pattern) for pattern in patterns or ["*"])


@dataclass
class Result:
    """What the training of one member gave.

    ``rows`` has a dict {column: value} for each logged epoch, with the column "epoch".
    ``kept`` has weights, tensors by epoch and parameter name. ``seconds`` is the
    training time, of a stack the member's share of it. ``info`` has metadata such as
    the device. ``trace`` has what each step minimised (see `Arm`), or is None if the
    arm does not ask for it.
    """

    arm: Arm
    seed: int
    rows: list[dict[str, float]]
    kept: dict[int, dict[str, Any]]
    seconds: float
    info: dict[str, Any]
    trace: list[float] | None = None


def _plain(value: Any) -> Any:
    """Return the value of a field as JSON data: specs as dicts, tuples as lists.

    Options of a spec stand beside its "name". Raises BookError for a function or class.
    """
    if isinstance(value, Spec):
        options = {name: _plain(option) for name, option in value.options.items()}
        return {"name": value.name} | options
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if callable(value):
        raise BookError(
            f"a setting is {value!r}, which no record can hold: write text or numbers, "
            "and name a task of your own as in 'my_module:my_task'"
        )
    return value


def _from_plain(value: Any) -> Any:
    """Return the value that `_plain` turned into JSON data; lists become tuples.

    Raises TypeError for a dict without a "name", which is no spec.
    """
    if isinstance(value, dict):
        return Spec(**{name: _from_plain(option) for name, option in value.items()})
    if isinstance(value, list):
        return tuple(_from_plain(item) for item in value)
    return value
