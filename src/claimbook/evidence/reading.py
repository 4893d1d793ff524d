"""The records and the papers' own numbers that a page reads, and lists of both.

The lists go into its table of claims, so that nobody guesses what it rests on. Papers'
numbers are CSV files in data/references/<paper>, each a row of sources.csv there, which
says where it comes from, how it was made, and its SHA-256.
"""

import glob
import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pandas as pd

from claimbook import papers, project, records
from claimbook.errors import DataError, NoRecord, choose
from claimbook.experiment import SCALES, Experiment
from claimbook.records import Record

_READ: list[dict[str, Any]] = []
_CITED: dict[str, dict[str, Any]] = {}


@dataclass(frozen=True)
class Page:
    """A page, "<paper>/<id>", with its parameters: what it reads it asks for."""

    name: str
    scale: str = "best"
    retrain: bool = False
    device: str = "auto"

    def __post_init__(self) -> None:
        if self.retrain:
            project.is_retrained = True  # which the sentences of this page ask

    def record(
        self,
        name: str = "",
        *,
        arms: Iterable[str] = (),
        reads: Iterable[str] = (),
        scale: str = "",
    ) -> Record:
        """The record of an experiment: the stored one, or one trained now.

        ``name`` without a paper is of the page's own; the page's namesake unless given.
        "best" is the best scale whose record has a seed of each of ``arms``, those
        without which the page cannot be read: one that has only begun is passed over.

        Where there is none yet it has no members: it is false, its arms have no seeds,
        and the page says "not run" of them. One that is damaged or stale is an error,
        and so is an arm that no scale has.

        With ``retrain`` it is trained ("best" means "laptop") into data/reruns/, so
        that a reader's rerun never touches the records of the book. ``reads`` names
        every arm that the page reads, and no other is trained then; without it all are.
        """
        paper, scale = self.name.partition("/")[0], scale or self.scale
        name = name if "/" in name else f"{paper}/{name}" if name else self.name
        known = {a.name: a.name for one in SCALES for a in papers.get(name, one).arms}
        arms = [choose(f"arm of {name}", arm, known) for arm in arms]
        reads = [choose(f"arm of {name}", arm, known) for arm in reads]
        best = "laptop" if self.retrain else "paper"
        plan = papers.get(name, best if scale == "best" else scale)
        try:
            if self.retrain:
                found = _retrained(plan, reads, self.device)
            else:
                found = papers.record(name, scale=scale, arms=arms)
        except NoRecord:
            rows = pd.DataFrame(columns=["arm", "seed", "epoch"])
            return Record(plan, rows, {}, {})
        if (entry := described(found, asked=scale, arms=arms)) not in _READ:
            _READ.append(entry)
        return found


def _retrained(plan: Experiment, arms: Iterable[str], device: str) -> Record:
    """The record in data/reruns/ after training what it lacks of some arms, or all.

    NoRecord where none of the arms is trained at this scale.
    """
    from claimbook.engine import pool

    folder = project.home() / "data" / "reruns"
    names = [glob.escape(arm) for arm in arms]  # "M+A*" is a name and no pattern
    todo = pool.tasks([plan], folder, arms=names)
    pool.train(todo, device=device)
    return records.load(plan, folder)


def record(name: str, *, scale="best", arms: Iterable[str] = (), **how) -> Record:
    """The record of an experiment by its whole name, see `Page.record`."""
    return Page(name, scale, **how).record(arms=arms)


def read() -> list[dict[str, Any]]:
    """What `record` has given out so far, each once, in the order of the first time."""
    return list(_READ)


def described(found: Record, *, asked: str, arms: Iterable[str]) -> dict[str, Any]:
    """What identifies a record that was read, and how it was asked for, as JSON.

    ``planned`` is a digest of what pages show of it beyond what is trained.
    """
    plan, members = found.experiment, found.members.items()
    told = json.dumps([[arm.name for arm in plan.arms], list(plan.seeds), plan.reduced])
    return {
        "record": found.name,
        "asked": asked,
        "arms": list(arms),
        "scale": found.scale,
        "members": {member: about["training_key"] for member, about in members},
        "sha256": found.digest,
        "planned": hashlib.sha256(told.encode()).hexdigest()[:16],
    }


def reference(name: str) -> pd.DataFrame:
    """The authors' numbers "<paper>/<name>", noted in `cited`.

    Columns ``quantity``, ``series``, ``epoch`` and ``value``, some with more of them
    (data/README.md); units as in records, so accuracies are fractions. DataError for a
    file that is not listed, or not the one that was listed.
    """
    row, path = source(name), project.home() / "data/references" / f"{name}.csv"
    found = hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "none"
    if found != row["sha256"]:
        raise DataError(
            f"{path} has the SHA-256 {found[:12]}…, not {row['sha256'][:12]}… of "
            "sources.csv: restore it, or write there what it is now"
        )
    kept = ("sha256", "repository", "commit", "path")
    _CITED[name] = {"name": name} | {key: row[key] for key in kept}
    return pd.read_csv(path)


def source(name: str) -> dict[str, str]:
    """The row of sources.csv about a reference; DataError where there is none."""
    path = project.home() / "data/references/sources.csv"
    rows = pd.read_csv(path, dtype=str, keep_default_na=False).set_index("file")
    if (file := f"{name}.csv") not in rows.index:
        raise DataError(f"{path} lists no {file!r}: it has {', '.join(rows.index)}")
    return rows.loc[file].to_dict()


def behind(mean: float, spread: float, *, count: int = 5, step: int = 100) -> list:
    """Which epochs may lie behind a printed mean and (population) deviation.

    All ascending choices of ``count`` multiples of ``step`` whose mean and deviation
    are the printed ones to half an epoch. ``step`` is larger than ``count``.
    """
    total = step * round(count * mean / step)
    if abs(total / count - mean) > 0.5:
        return []
    reach = math.ceil(math.sqrt(count) * (spread + 1) / step)
    near = step * (np.arange(-reach, reach + 2) + int(mean / step))
    first = np.array(list(combinations_with_replacement(near, count - 1)))
    rows = np.column_stack([first, total - first.sum(axis=1)])
    fit = (rows[:, -1] >= rows[:, -2]) & (abs(rows.std(axis=1) - spread) <= 0.5)
    return [tuple(map(int, row)) for row in rows[fit]]


def cited() -> list[dict[str, Any]]:
    """What `reference` has given out so far, each once: name, SHA-256 and origin."""
    return list(_CITED.values())
