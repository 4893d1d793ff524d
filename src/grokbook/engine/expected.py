"""How long an experiment is expected to take on CPU cores, without torch.

A member that was trained on a CPU is expected to take as long again. The operations of
the others are counted (`cost`), and what their experiment took beyond its count so
far, at its own scale or else at another, is taken to hold for them too.
"""

import os
from collections.abc import Iterable, Mapping
from typing import Any

from grokbook.engine import cost
from grokbook.experiment import Experiment

Members = Mapping[str, Mapping[str, Any]]  # what is recorded, by "arm|seed"


def cores() -> int:
    """CPU cores that this process may use: as many members are trained at a time."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def seconds(
    experiment: Experiment,
    recorded: Members,
    others: Iterable[tuple[Experiment, Members]] = (),
    *,
    on_cores: int,
) -> float:
    """Seconds for all members, one on each core at a time.

    ``recorded`` is what there is of them, ``others`` the same experiment at other
    scales, with what there is of it.
    """
    taken = _taken(recorded)
    paces = (_pace(*one) for one in ((experiment, recorded), *others))
    pace = next(filter(None, paces), 1.0)
    every = [
        taken.get(f"{arm.name}|{seed}") or pace * cost.seconds([(arm, seed)], "cpu")
        for arm, seed in experiment.members()
    ]
    return max(sum(every) / on_cores, max(every))


def _taken(recorded: Members) -> dict[str, float]:
    """Seconds of the members that were trained on a CPU."""
    return {
        key: about["seconds"]
        for key, about in recorded.items()
        if about.get("device") == "cpu"
    }


def _pace(experiment: Experiment, recorded: Members) -> float | None:
    """Seconds taken over seconds counted; None where no CPU has trained a member."""
    taken = _taken(recorded)
    counted = sum(
        cost.seconds([(arm, seed)], "cpu")
        for arm, seed in experiment.members()
        if f"{arm.name}|{seed}" in taken
    )
    return sum(taken.values()) / counted if counted else None
