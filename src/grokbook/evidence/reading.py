"""The record that a page reads, and the list of those it has read so far.

The list goes into the page's table of claims, so that nobody guesses what it rests on.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pandas import DataFrame

from grokbook import papers, project
from grokbook.errors import NoRecord, choose
from grokbook.experiment import SCALES
from grokbook.records import Record

_READ: list[dict[str, Any]] = []


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
        """The record of an experiment: the stored one, or one trained now.

        ``name`` without a paper is of the page's own; the page's namesake unless given.
        "best" is the best scale whose record has a seed of each of ``arms``, those
        without which the page cannot be read: one that has only begun is passed over.

        Where there is none yet it has no members: it is false, its arms have no seeds,
        and the page says "not run" of them. One that is damaged or stale is an error,
        and so is an arm that no scale has.

        With ``retrain`` the experiment is trained ("best" means "laptop") into
        data/reruns/, so that a reader's rerun never touches the records of the book.
        """
        paper, scale = self.name.partition("/")[0], scale or self.scale
        name = name if "/" in name else f"{paper}/{name}" if name else self.name
        known = {a.name: a.name for one in SCALES for a in papers.get(name, one).arms}
        arms = [choose(f"arm of {name}", arm, known) for arm in arms]
        if self.retrain:
            from grokbook.engine import pool

            plan = papers.get(name, "laptop" if scale == "best" else scale)
            found = pool.run(plan, device=self.device, out=project.reruns_folder())
        else:
            try:
                found = papers.record(name, scale=scale, arms=arms)
            except NoRecord:
                plan = papers.get(name, "paper" if scale == "best" else scale)
                rows = DataFrame(columns=["arm", "seed", "epoch"])
                return Record(plan, rows, {}, {})
        if (entry := described(found, asked=scale, arms=arms)) not in _READ:
            _READ.append(entry)
        return found


def record(
    name: str, *, scale: str = "best", arms: Iterable[str] = (), **how: Any
) -> Record:
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
