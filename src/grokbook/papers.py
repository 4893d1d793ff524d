"""The experiments of a paper by name, and how they are written down.

``get("prieto2025/fig02", "paper")`` finds them in book/prieto2025/experiments.py, which
stands beside the claims and the pages that they serve: this package knows no paper. A
page may need several: fig04left and fig04right belong to page fig04. There an arm is a
row, and a scale a value in it:

    @EXPERIMENTS.section
    def losses() -> Rows:
        # Two losses.
        yield experiment("fig99", "2,000 of 20,000 epochs, one seed of five", log=50)
        yield shared(optimizer=adamw(1e-3), epochs=Size(20_000, 2_000))
        yield row("softmax", SOFTMAX)
        yield row("StableMax", STABLEMAX)

There is a third scale, smoke, which ``shrink`` makes of the laptop's values.
"""

import runpy
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from grokbook import project, records
from grokbook.errors import NoRecord, choose
from grokbook.experiment import SCALES, Arm, Experiment, Spec

Row = dict[str, Any]
Rows = Iterator[Row]
END: Any = object()  # the last epoch of an arm, in its ``log``, ``keep`` or ``rarely``
# What ``shrink`` leaves of what makes a data set, a network or a schedule large.
TINY = {"p": 11, "samples": 40, "train_samples": 12, "test_samples": 8, "pairs": 40}
TINY |= {"block": 12, "train_blocks": 12, "test_blocks": 4, "vocabulary": 256}
TINY |= {"width": 8, "widths": 8, "hidden": 16, "depth": 2, "heads": 2}
TINY |= {"positions": 12, "warmup": 2, "every": 2}


@dataclass(frozen=True)
class Size:
    """A value that differs between the scales: the paper's, and that of a laptop."""

    paper: Any
    laptop: Any


def experiment(name: str, reduced: str, **settings: Any) -> Row:
    """What follows is an experiment of that name; ``settings`` are shared by its arms.

    ``reduced`` says in words what laptop scale leaves out; ``seeds``: with how many an
    arm is trained, a Size. A smoke test has the arms of both scales, made tiny, with
    two seeds.
    """
    return {"experiment": name, "reduced": reduced} | settings


def shared(**settings: Any) -> Row:
    """What all arms that follow in an experiment have unless they say otherwise."""
    return settings


def row(name: str | Size, loss: Any = None, optimizer: Any = None, **settings) -> Row:
    """An arm: what it has beside, or instead of, what all share.

    ``only``: the scale that alone has this arm, if it is not at both.
    """
    given = {"name": name, "loss": loss, "optimizer": optimizer}
    return {key: value for key, value in given.items() if value} | settings


def at(scale: str, value: Any, end: int | None = None) -> Any:
    """A value with every ``Size`` in it, however deep, replaced by that of a scale."""
    if value is END:
        return end
    if isinstance(value, Size):
        return at(scale, value.paper if scale == "paper" else value.laptop, end)
    if isinstance(value, Spec):
        return Spec(value.name, **{k: at(scale, v) for k, v in value.options.items()})
    if isinstance(value, tuple):
        return tuple(at(scale, part, end) for part in value)
    return value


class Registry(dict[str, Callable[[str], Experiment]]):
    """Experiments of one paper by name, each a function of the scale.

    ``count``: with how many of the ``seeds`` an arm is trained, unless its experiment
    says otherwise; ``settings``: what all arms of the paper share.
    """

    def __init__(self, paper: str, seeds: tuple[int, ...], count: Size, **settings):
        super().__init__()
        self.paper, self.seeds, self.count = paper, seeds, count
        self.settings = settings

    def section(self, rows: Callable[[], Rows]) -> Callable[[], Rows]:
        """Decorate a function that yields experiments, each before its rows."""
        for one in rows():
            if "experiment" in one:
                plan = {"name": one.pop("experiment"), "reduced": one.pop("reduced")}
                plan |= {"seeds": self.count, "arms": []}
                settings = self.settings
                self[plan["name"]] = partial(self._make, plan)
            if "name" in one:
                plan["arms"].append(settings | one)
            else:
                plan["seeds"] = one.pop("seeds", plan["seeds"])
                settings = settings | one
        return rows

    def _make(self, plan: dict[str, Any], scale: str) -> Experiment:
        smoke, arms = scale == "smoke", []
        for values in plan["arms"]:
            if smoke or values.get("only", "") in ("", scale):
                end = at(scale, values["epochs"])
                values = {
                    k: at(scale, v, end) for k, v in values.items() if k != "only"
                }
                arms.append(shrink(Arm(**values)) if smoke else Arm(**values))
        return Experiment(
            f"{self.paper}/{plan['name']}",
            scale,
            tuple(arms),
            self.seeds[: 2 if smoke else at(scale, plan["seeds"])],
            plan["reduced"] if scale == "laptop" else "",
        )


def shrink(arm: Arm) -> Arm:
    """A smoke test of an arm: the same in a fraction of a second, and for no verdict.

    Six epochs, few rows, a narrow network; classes and tokens that are counted from p
    follow it, but where numbers are codes p stays, since it sets their length.
    """
    coded = "encoding" in arm.dataset.options
    p = 0 if coded else arm.dataset.options.get("p", 0)

    def small(name: str, value: Any) -> Any:
        if p and name in ("classes", "vocabulary"):
            return value - p + TINY["p"]
        if name not in TINY or (name == "p" and coded):
            return value
        if isinstance(value, tuple):
            return tuple(min(one, TINY[name]) for one in value)
        return min(value, TINY[name])

    def tiny(spec: Spec) -> Spec:
        return Spec(spec.name, **{k: small(k, v) for k, v in spec.options.items()})

    return replace(
        arm,
        dataset=tiny(arm.dataset),
        model=tiny(arm.model),
        schedule=arm.schedule and tiny(arm.schedule),
        epochs=6,
        log=3,
        rarely=arm.rarely and (3, arm.rarely[1]),
        keep=arm.keep and (0, 6),
        later_loss=arm.later_loss and (3, arm.later_loss[1]),
        batch_size=arm.batch_size and 4,
        eval_batch=arm.eval_batch and 4,
    )


@cache
def registries() -> dict[str, Registry]:
    """The experiments of every paper, in the order of the book."""
    folders = {paper: project.home() / "book" / paper for paper in project.FOLDERS}
    return {
        paper: runpy.run_path(str(folder / "experiments.py"))["EXPERIMENTS"]
        for paper, folder in folders.items()
    }


def names(prefix: str = "") -> list[str]:
    """The experiment of that name, else all that begin with it, in the book's order."""
    found = [
        f"{paper}/{name}" for paper, known in registries().items() for name in known
    ]
    begin = [name for name in found if name.startswith(prefix)]
    return [prefix] if prefix in found else begin


def get(name: str, scale: str) -> Experiment:
    """The experiment of that name at that scale; UnknownName if there is none."""
    choose("scale", scale, SCALES)
    paper, _, page = choose("experiment", name, names()).partition("/")
    return registries()[paper][page](scale)


def record(
    name: str,
    *,
    scale: str = "best",
    arms: Iterable[str] = (),
    folder: Path | None = None,
) -> records.Record:
    """The stored result of an experiment, at a scale or at the best one there is.

    The best one that has a seed of each of ``arms``, so that a record in the making is
    not taken before it can be used; if no record has them all, the best one there is.
    NoRecord if there is none, RecordError if one that is looked at is damaged.
    """
    if scale != "best":
        return records.load(get(name, scale), folder)
    best, arms = None, list(arms)
    for one in SCALES:
        with suppress(NoRecord):
            found = records.load(get(name, one), folder)
            if all(found.seeds(arm) for arm in arms):
                return found
            best = best or found
    if best:
        return best
    raise NoRecord(
        f"{name} has no record yet: run `grokbook run {name} --scale laptop --record`"
    )
