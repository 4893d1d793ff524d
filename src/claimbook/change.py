"""Settings that a reader changes in an experiment, such as ``optimizer.lr=0.02``.

A changed experiment keeps its name, its seeds and the names of its arms, by which pages
ask for them. What its arms train is something else, so they have other training keys
and their records lie in other files.
"""

import ast
import fnmatch
import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from claimbook import canonical, project
from claimbook.errors import BookError, choose, refuse_text
from claimbook.experiment import (
    COUNTED,
    NOT_TRAINED,
    Arm,
    Experiment,
    Spec,
    is_named,
)

# What a sentence calls a value of a type; any other is a name.
NOUNS = {bool: "True or False", int: "a whole number", float: "a number"}


@dataclass(frozen=True)
class Change:
    """New values by the path of a setting, for arms whose names fit a pattern.

    A path is a field of `Arm`, such as "epochs", or a field and an option of its spec,
    such as "optimizer.lr". The path of a field with a spec alone, such as "optimizer",
    changes the name of the function or class; of the options those stay that the new
    one has too. Names change before options, which are therefore those of the new name.
    """

    settings: dict[str, Any]
    arms: Sequence[str] = ()  # patterns of names; by default all arms

    def __post_init__(self) -> None:
        refuse_text("arms", self.arms)
        names_first = sorted(self.settings.items(), key=lambda item: "." in item[0])
        object.__setattr__(self, "settings", dict(names_first))

    def __str__(self) -> str:
        text = ", ".join(f"{path} = {value}" for path, value in self.settings.items())
        return f"{text} (arms {', '.join(self.arms)})" if self.arms else text

    def of(self, experiment: Experiment) -> Experiment:
        """Return an experiment with the new values in all arms that have the settings.

        Arms whose name fits no pattern, or that have none of the settings, stay as they
        are. Raises BookError for a value that does not fit, which `check` does for all
        experiments beforehand.
        """
        return replace(experiment, arms=tuple(map(self._changed, experiment.arms)))

    def altered(self, experiment: Experiment) -> list[str]:
        """Return the names of those arms whose training the change alters."""
        pairs = zip(experiment.arms, self.of(experiment).arms, strict=True)
        return [old.name for old, new in pairs if old.training_key != new.training_key]

    def check(self, experiments: Sequence[Experiment]) -> None:
        """Raise BookError, before anything is trained, if the change cannot be made.

        It cannot be made if no arm of the experiments has a name that fits or has the
        setting; if a value is of the wrong type or out of range; or if a setting would
        change nothing in any arm.
        """
        arms = [arm for experiment in experiments for arm in experiment.arms]
        if not arms:
            raise BookError("no experiment is trained here: there is nothing to change")
        check_named(arms, self.arms)
        for path, value in self.settings.items():
            for old in _known_values(path, self._values_by_path(experiments)):
                _converted(path, value, old)  # raises where it does not fit
            of_path = Change({path: value}, self.arms)
            if not any(map(of_path.altered, experiments)):
                raise BookError(
                    f"{path} is {value} already in every arm that has it: nothing "
                    "would change"
                )
            # the next setting has to fit what this one leaves, such as its optimizer
            experiments = [of_path.of(experiment) for experiment in experiments]

    def levelled(self, experiments: Sequence[Experiment]) -> list[str]:
        """Return a sentence for each setting that has several values in arms to change.

        The change sets them all to one, so that a figure of what they do has nothing
        left to show.
        """
        values_by_path = self._values_by_path(experiments)
        sentences = []
        for path, value in self.settings.items():
            values = values_by_path.get(path, [])
            distinct = dict.fromkeys(map(str, values))
            if len(distinct) < 2:
                continue
            words = " and ".join(distinct)
            if all(type(old) in (int, float) for old in values):
                words = f"{min(values):g} to {max(values):g}"
            sentences.append(
                f"{path} was {words} in these arms, and is {value} in all of them now."
            )
        return sentences

    def _values_by_path(
        self, experiments: Sequence[Experiment]
    ) -> dict[str, list[Any]]:
        """Return the values of each setting, one for each arm to change that has it."""
        values_by_path: dict[str, list[Any]] = {}
        for arm in (arm for experiment in experiments for arm in experiment.arms):
            if is_named(arm, self.arms):
                for path, value in settings_of(arm).items():
                    values_by_path.setdefault(path, []).append(value)
        return values_by_path

    def _changed(self, arm: Arm) -> Arm:
        """Return an arm with the new values of those settings that it has, in order.

        An arm that ``arms`` does not name stays as it is. A value takes the type of the
        old one; raises BookError if it cannot.
        """
        if not is_named(arm, self.arms):
            return arm
        for path, value in self.settings.items():
            # anew each time: a new name of a spec has other options
            present = settings_of(arm)
            if path in present:
                arm = _with_setting(arm, path, _converted(path, value, present[path]))
        return arm


def check_named(arms: Iterable[Arm], patterns: Iterable[str]) -> None:
    """Raise UnknownName for a pattern that fits the name of none of the arms.

    A pattern is one of `fnmatch`, such as "lr 0.05*". Without patterns nothing is
    raised.
    """
    names = dict.fromkeys(arm.name for arm in arms)
    for pattern in patterns:
        if not fnmatch.filter(names, pattern):
            # raises, unless it is itself the name of an arm, with brackets in it
            choose("arm", pattern, names)


# The change that pages of this process train with. Modules that read it import this
# module, not the name, as `use` gives the name another value.
in_use: Change | None = None


def use(settings: str, arms: str = "") -> None:
    """Set ``in_use``: pages of this process train with other settings from now on.

    ``settings`` is a text as `read` takes it, which raises BookError for a wrong one;
    ``arms`` is a pattern of names of arms, or "" for all arms.
    """
    global in_use
    in_use = read(settings, [arms] if arms else [])


def _known_values(path: str, values_by_path: Mapping[str, list[Any]]) -> list[Any]:
    """Return the values that a setting has in the arms, ``values_by_path[path]``.

    Raises BookError for an unknown path; its message names the settings whose last part
    the path is, or those whose paths are near.
    """
    # the settings whose last part is the path, such as "optimizer.lr" for "lr"
    longer_paths = [known for known in values_by_path if known.endswith(f".{path}")]
    if longer_paths and path not in values_by_path:
        raise BookError(f"unknown setting {path!r}: use {' or '.join(longer_paths)}")
    return choose("setting", path, values_by_path)


def read(settings: str, arms: Sequence[str] = ()) -> Change:
    """Return the change that a text describes, such as "optimizer.lr=0.02 epochs=900".

    Settings are separated by blanks, and quotes protect a blank in a value. A value is
    a literal of Python, or else the text itself. ``arms`` are patterns of the names of
    the arms to change, by default all. Raises BookError for a text that cannot be read
    so, or that names no setting, or one twice. Whether arms have the settings is asked
    only by `Change.check`.
    """
    values = {}
    try:
        words = shlex.split(settings)
    except ValueError as error:
        raise BookError(f"{settings!r} cannot be read: {error}") from error
    for word in words:
        path, sign, text = word.partition("=")
        if not (path and sign and text):
            raise BookError(
                f"{word!r} is not a setting: write a name and a value, as in "
                "optimizer.lr=0.02, and a value that has blanks in quotes, as in "
                "dataset.operation='a*a + b'"
            )
        if path in values:
            raise BookError(f"{path} is given twice: leave one out")
        try:
            values[path] = ast.literal_eval(text)
        except (ValueError, SyntaxError, TypeError):  # no literal, such as a name
            values[path] = text
    if not values:
        raise BookError("no setting is given: write one as in optimizer.lr=0.02")
    return Change(values, arms)


def settings_of(arm: Arm) -> dict[str, Any]:
    """Return the settings of an arm that a reader can change, by their paths.

    Options that the arm leaves out are included with their defaults. Of several specs
    in a field, such as penalties, an option that they share has the value of the last.
    Fields that say only what is measured (``NOT_TRAINED``) are left out: they are not
    part of the key of a training.
    """
    settings: dict[str, Any] = {}
    for name, spec in arm.specs():
        settings[name] = spec.name
        for option, value in _options(name, spec).items():
            settings[f"{name}.{option}"] = value
    for field in fields(arm):
        if field.name not in NOT_TRAINED | canonical.KINDS.keys():
            settings[field.name] = getattr(arm, field.name)
    return settings


def _options(field: str, spec: Spec) -> dict[str, Any]:
    """Return the options of a spec in a field of an arm, defaults included."""
    return canonical.options(canonical.KINDS[field], spec.name, spec.options)


def _with_setting(arm: Arm, path: str, value: Any) -> Arm:
    """Return an arm with another value of a setting that it has.

    A change of the modulus ``dataset.p`` changes the numbers of classes and tokens of
    the network with it; a network that takes no tokens has 0 of them and keeps that. A
    change of ``epochs`` changes what is logged and kept at the last epoch.
    """
    field, _, option = path.partition(".")
    if path == "epochs":
        return _with_epochs(arm, value)
    if field not in canonical.KINDS:  # it holds no spec, such as "alpha"
        return replace(arm, **{field: value})

    def with_value(part: Any) -> Any:
        """Return a part of the arm's field, with the new value if it has the setting.

        A field is one spec, or has as parts several specs, or the epoch and the spec of
        a later loss. ``field``, ``option``, which is "" for the spec's name, and
        ``value`` are those of `_with_setting`.
        """
        if not isinstance(part, Spec):
            return part  # the epoch
        if not option:
            return _with_name(field, part, value)
        if option not in _options(field, part):
            return part  # one of several penalties, and another has the option
        return Spec(part.name, **part.options | {option: value})

    old = getattr(arm, field)
    if isinstance(old, tuple):
        changed: Any = tuple(map(with_value, old))
    else:
        changed = with_value(old)
    if path == "dataset.p":
        growth = value - _options(field, arm.dataset)["p"]  # of the modulus
        counts = {
            name: count + growth
            for name, count in arm.model.options.items()
            if name in COUNTED and count > 0
        }
        arm = replace(arm, model=Spec(arm.model.name, **arm.model.options | counts))
    return replace(arm, **{field: changed})


def _with_name(field: str, spec: Spec, name: str) -> Spec:
    """Return a spec of another name, with those options that the new name has as well.

    ``field`` is that of the spec in an arm. Raises UnknownName if no function or class
    of its kind is called ``name``.
    """
    import inspect

    from claimbook import names  # imports PyTorch, which most changes do not need

    kind = canonical.KINDS[field]
    parameters = inspect.signature(names.resolve(kind, Spec(name))).parameters
    # with those that the signature hides in ``**options``
    known = {*parameters, *canonical.options(kind, name, {})}
    shared = {option: v for option, v in spec.options.items() if option in known}
    return Spec(name, **shared)


def _with_epochs(arm: Arm, epochs: int) -> Arm:
    """Return an arm with another last epoch.

    What was logged or kept at the old last epoch is so at the new one. Weights of
    epochs after the new one are not kept.
    """

    def moved(epoch: int) -> int:
        """Return an epoch as it is, but the new last one in place of the old."""
        return epochs if epoch == arm.epochs else epoch

    log = arm.log
    if not isinstance(log, int):
        log = tuple((moved(until), interval) for until, interval in log)
    keep = tuple(epoch for epoch in map(moved, arm.keep) if epoch <= epochs)
    return replace(arm, epochs=epochs, log=log, keep=keep)


def _converted(path: str, value: Any, old: Any) -> Any:
    """Return a new value of a setting, converted to the type of the old one.

    A whole number becomes a float where the old value is one, and a list a tuple, with
    each item converted. A value of any type may take the place of None. Raises
    BookError if the value is of another type, a number that is not finite or is outside
    the limits that "ranges" of book/project.yaml has for the option, or an empty tuple
    in place of numbers.
    """
    refusal = f"{path} cannot be {value!r}"
    if isinstance(old, tuple | list):
        first = old[0] if old else None  # the others are of its type
        needs_some = isinstance(first, int | float)  # as a network needs layers
        if not isinstance(value, tuple | list) or (needs_some and not value):
            example = repr(tuple(old)).replace(" ", "")
            raise BookError(f"{refusal}: write several, as in {path}={example}")
        return tuple(_converted(path, part, first) for part in value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(old, float) and is_number:
        value = float(value)
    if old is not None and type(value) is not type(old):
        noun = NOUNS.get(type(old), "a name")
        raise BookError(f"{refusal}: it is {old!r} in the book, so give {noun}")
    if is_number and not math.isfinite(value):
        raise BookError(f"{refusal}: give a finite number")
    # of the path of a field without a dot, such as "epochs", all of it
    option = path.rpartition(".")[2]
    low, high = project.part("ranges").get(option, (-math.inf, math.inf))
    if is_number and not low <= value <= high:
        bound = f"at least {low:g}" if value < low else f"at most {high:g}"
        raise BookError(f"{refusal}: give a number of {bound}")
    return value
