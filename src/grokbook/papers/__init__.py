"""Each paper's experiments by name: ``get("prieto2025/fig02", "paper")``.

A page may need several experiments, one per panel: ``prieto2025/fig04left`` and
``prieto2025/fig04right`` belong to page ``prieto2025/fig04``.
"""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from grokbook import records
from grokbook.errors import NoRecord, choose
from grokbook.experiment import SCALES, Experiment
from grokbook.papers import basics, liu2026, prieto2025, singh2026, tiwari2026

PAPERS = {
    "basics": basics.EXPERIMENTS,
    "prieto2025": prieto2025.EXPERIMENTS,
    "singh2026": singh2026.EXPERIMENTS,
    "liu2026": liu2026.EXPERIMENTS,
    "tiwari2026": tiwari2026.EXPERIMENTS,
}


def names(prefix: str = "") -> list[str]:
    """The experiment of that name, else all that begin with it, in the book's order."""
    found = [f"{paper}/{name}" for paper, known in PAPERS.items() for name in known]
    if prefix in found:
        return [prefix]
    return [name for name in found if name.startswith(prefix)]


def get(name: str, scale: str) -> Experiment:
    """The experiment of that name at that scale; UnknownName if there is none."""
    choose("scale", scale, SCALES)
    choose("experiment", name, names())
    paper, _, page = name.partition("/")
    return PAPERS[paper][page](scale)


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
    NoRecord if there is none, RecordError if one that is looked at is
    damaged; UnknownName for arms that the experiment has at no scale.
    """
    experiments = [get(name, candidate) for candidate in SCALES]
    known = list(dict.fromkeys(arm.name for e in experiments for arm in e.arms))
    arms = list(arms)
    for arm in arms:
        choose(f"arm of {name}", arm, known)
    if scale != "best":
        return records.load(get(name, scale), folder)
    best = None
    for experiment in experiments:
        with suppress(NoRecord):
            found = records.load(experiment, folder)
            if all(found.seeds(arm) for arm in arms):
                return found
            best = best or found
    if best:
        return best
    raise NoRecord(
        f"{name} has no record yet: run `grokbook run {name} --scale laptop --record`"
    )
