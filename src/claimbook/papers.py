"""The experiments of a paper by name, and how they are written down.

``get("prieto2025/fig02", "paper")`` finds one in book/prieto2025/experiments.py, where
an arm is a row, and a scale a value in it:

    @EXPERIMENTS.section
    def losses() -> Rows:
        # Two losses.
        yield experiment("fig99", "2,000 of 20,000 epochs, one seed of five", log=50)
        yield shared(optimizer=adamw(1e-3), epochs=Size(20_000, 2_000))
        yield row("softmax", SOFTMAX)
        yield row("StableMax", STABLEMAX)

The third scale, smoke, is what ``shrink`` makes of the laptop's values.
"""

import runpy
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from claimbook import project, records
from claimbook.errors import NoRecord, choose
from claimbook.experiment import SCALES, Arm, Experiment, Spec

Row = dict[str, Any]
Rows = Iterator[Row]
END: Any = object()  # the last epoch of an arm, in its ``log``, ``keep`` or ``rarely``


@dataclass(frozen=True)
class Size:
    """A value of two scales."""

    paper: Any
    laptop: Any


def experiment(name: str, reduced: str, **settings: Any) -> Row:
    """What follows is an experiment of that name; ``settings`` are shared by its arms.

    ``reduced`` says what laptop scale leaves out; ``seeds``: how many, a Size, or
    which. A smoke test has the arms of both scales, with two seeds.
    """
    return {"experiment": name, "reduced": reduced} | settings


def shared(**settings: Any) -> Row:
    """What all arms that follow in an experiment have unless they say otherwise."""
    return settings


def row(name: str | Size, loss: Any = None, optimizer: Any = None, **settings) -> Row:
    """An arm: what it has beside what all share; ``only``: at this scale alone."""
    given = {"name": name, "loss": loss, "optimizer": optimizer}
    return {key: value for key, value in given.items() if value} | settings


def at(scale: str, value: Any, end: int | None = None) -> Any:
    """A value with every ``Size`` in it replaced by that of a scale."""
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

    ``count`` of the ``seeds`` are trained, unless an experiment says otherwise;
    ``settings`` are shared by all arms of the paper.
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
                given = {k: at(scale, v, end) for k, v in values.items() if k != "only"}
                arms.append(shrink(Arm(**given)) if smoke else Arm(**given))
        seeds = at(scale, plan["seeds"])
        if not isinstance(seeds, tuple):
            seeds = self.seeds[: 2 if smoke else seeds]
        name, reduced = f"{self.paper}/{plan['name']}", plan["reduced"]
        reduced = reduced if scale == "laptop" else ""
        return Experiment(name, scale, tuple(arms), seeds, reduced)


def shrink(arm: Arm) -> Arm:
    """A smoke test of an arm: the same in a fraction of a second, and for no verdict.

    Six epochs, few rows, a narrow network, as "smoke" of book/project.yaml says.
    Classes and tokens that are counted from p follow it, but where numbers are codes p
    stays, since it sets their length.
    """
    most = project.described("smoke")
    coded = "encoding" in arm.dataset.options
    p = 0 if coded or "p" not in most else arm.dataset.options.get("p", 0)

    def small(name: str, value: Any) -> Any:
        if p and name in ("classes", "vocabulary"):
            return value - p + most["p"]
        if name not in most or (name == "p" and coded):
            return value
        if isinstance(value, tuple):
            return tuple(small(name, one) for one in value)
        return min(value, most[name])

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
    paths = {
        p: project.home() / f"book/{p}/experiments.py" for p in project.page_folders()
    }
    some = {p: str(path) for p, path in paths.items() if path.is_file()}
    return {p: runpy.run_path(path)["EXPERIMENTS"] for p, path in some.items()}


def names(prefix: str = "") -> list[str]:
    """The experiment of that name, else all that begin so, in the order of the book."""
    found = [f"{paper}/{one}" for paper, has in registries().items() for one in has]
    begin = [name for name in found if name.startswith(prefix)]
    return [prefix] if prefix in found else begin


def get(name: str, scale: str) -> Experiment:
    """The experiment of that name at that scale; UnknownName if there is none."""
    choose("scale", scale, SCALES)
    paper, _, page = choose("experiment", name, names()).partition("/")
    return registries()[paper][page](scale)


def record(
    name: str, *, scale="best", arms: Iterable[str] = (), folder: Path | None = None
) -> records.Record:
    """The stored result of an experiment; NoRecord, or RecordError if it is damaged.

    "best" is the best scale that has a seed of each of ``arms``, as a record in the
    making has not; if none has them all, the best one there is.
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
    again = f"grokbook run {name} --scale laptop --record"
    raise NoRecord(f"{name} has no record yet: run `{again}`")
