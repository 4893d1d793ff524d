"""Each paper's experiments by name: ``get("prieto2025/fig02", "paper")``.

A page may need several, one per panel: ``prieto2025/fig04left`` and ``fig04right``
belong to page ``prieto2025/fig04``.
"""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from grokbook import records
from grokbook.errors import NoRecord, choose
from grokbook.experiment import SCALES, Experiment
from grokbook.papers import basics, liu2026, prieto2025, singh2026, tiwari2026

EVERY = (basics, prieto2025, singh2026, liu2026, tiwari2026)
PAPERS = {one.EXPERIMENTS.paper: one.EXPERIMENTS for one in EVERY}


def names(prefix: str = "") -> list[str]:
    """The experiment of that name, else all that begin with it, in the book's order."""
    found = [f"{paper}/{name}" for paper, known in PAPERS.items() for name in known]
    begin = [name for name in found if name.startswith(prefix)]
    return [prefix] if prefix in found else begin


def get(name: str, scale: str) -> Experiment:
    """The experiment of that name at that scale; UnknownName if there is none."""
    choose("scale", scale, SCALES)
    paper, _, page = choose("experiment", name, names()).partition("/")
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
