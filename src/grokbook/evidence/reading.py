"""The record that a page reads, and the list of those it has read so far.

The list goes into the page's table of claims: which records a page rests on, with the
training keys of their members, is written down by the page and never guessed.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pandas import DataFrame

from grokbook import papers, project
from grokbook.errors import NoRecord
from grokbook.records import Record

_READ: list[dict[str, Any]] = []


def record(
    name: str,
    *,
    scale: str = "best",
    arms: Iterable[str] = (),
    retrain: bool = False,
    device: str = "auto",
) -> Record:
    """The record that a page reads: the stored one, or one trained now.

    "best" is the best scale whose record has a seed of each of ``arms``, those without
    which the page cannot be read: one whose training has only begun is passed over.

    Where there is none yet it has no members: it is false, its arms have no seeds, and
    the page says "not run" of them. One that is damaged or stale is an error.

    With ``retrain`` the experiment is trained at ``scale`` ("best" means "laptop") into
    data/reruns/, so that a reader's rerun never touches the records of the book.
    """
    arms = tuple(arms)
    if retrain:
        from grokbook.engine import pool

        trained = "laptop" if scale == "best" else scale
        reruns = project.reruns_folder()
        found = pool.run(papers.get(name, trained), device=device, out=reruns)
    else:
        try:
            found = papers.record(name, scale=scale, arms=arms)
        except NoRecord:
            plan = papers.get(name, "paper" if scale == "best" else scale)
            rows = DataFrame(columns=["arm", "seed", "epoch"])
            return Record(plan, rows, {}, {})
    entry = described(found, asked=scale, arms=arms)
    if entry not in _READ:
        _READ.append(entry)
    return found


@dataclass(frozen=True)
class Page:
    """A page with the parameters that it was executed with: what it reads it asks for.

    ``name`` is its id, "<paper>/<id>".
    """

    name: str
    scale: str = "best"
    retrain: bool = False
    device: str = "auto"

    def record(
        self, name: str = "", *, arms: Iterable[str] = (), scale: str = ""
    ) -> Record:
        """The record of an experiment, see `record`; the page's namesake unless given.

        A name without a paper is of the page's own paper.
        """
        paper = self.name.partition("/")[0]
        whole = name if "/" in name else f"{paper}/{name}" if name else self.name
        how: Any = {"retrain": self.retrain, "device": self.device}
        return record(whole, arms=arms, scale=scale or self.scale, **how)


def read() -> list[dict[str, Any]]:
    """What `record` has given out so far, each once, in the order of the first time."""
    return list(_READ)


def described(found: Record, *, asked: str, arms: Iterable[str]) -> dict[str, Any]:
    """What identifies a record that was read, and how it was asked for, as JSON."""
    return {
        "record": found.name,
        "asked": asked,
        "arms": list(arms),
        "scale": found.scale,
        "members": {
            member: about["training_key"] for member, about in found.members.items()
        },
        "sha256": found.digest,
        "planned": _planned(found),
    }


def _planned(found: Record) -> str:
    """Digest of what pages show of an experiment beyond what is trained of it."""
    plan = found.experiment
    told = [[arm.name for arm in plan.arms], list(plan.seeds), plan.reduced]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]


def digest(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
