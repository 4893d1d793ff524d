"""The plan as jobs: what a workflow hands out to machines that share no memory.

A job is one call of ``grokbook run``. On a GPU it trains members of one kind, which
share its steps; on a CPU it trains one member. Its name follows from its members alone,
so that a plan that is made again gives the work that is left the names it had.
"""

import glob
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from grokbook.engine import cost, plan
from grokbook.errors import choose
from grokbook.experiment import Experiment


@dataclass(frozen=True)
class Job:
    """Every arm with every seed, for all ``experiments``; ``seconds`` are expected."""

    name: str
    experiments: list[str]
    scale: str
    device: str
    matmul: str
    arms: list[str]
    seeds: list[int]
    seconds: float

    def words(self) -> list[str]:
        """What to call ``grokbook`` with, folder and time budget apart."""
        words = ["run", *self.experiments, "--scale", self.scale]
        words += ["--device", self.device]
        words += [f"--seeds={','.join(map(str, self.seeds))}"]
        words += [f"--arms={glob.escape(arm)}" for arm in self.arms]
        if self.device == "cpu":
            words += ["--matmul", self.matmul, "--processes", "1"]
        return words

    def to_json(self) -> dict[str, Any]:
        """Plain data; ``words`` and the number of ``members`` included."""
        members = len(self.arms) * len(self.seeds)
        return asdict(self) | {"members": members, "words": self.words()}


def jobs(
    experiments: Sequence[Experiment], device: str, out: Path | None = None
) -> list[Job]:
    """The members that the records in a folder lack, each in one job.

    ``device``: cpu or cuda, of the machines that will train, not of this one. The most
    valuable comes first. UnknownName for another device; RecordError for records that
    cannot be read.
    """
    choose("device", device, ("cpu", "cuda"))
    order = plan.planned(plan.tasks(experiments, out, device), device)
    return [_job(block, device) for group, _ in order for block in _blocks(group)]


def _blocks(group: Sequence[plan.Task]) -> Iterator[list[plan.Task]]:
    """A group cut so that in each part every arm has the same seeds."""
    of_arm: dict[str, list[plan.Task]] = {}
    for task in group:
        of_arm.setdefault(f"{_where(task)} {task.member[0].hash()}", []).append(task)

    def what(tasks: list[plan.Task]) -> tuple[list[str], list[int]]:
        return _where(tasks[0]), [task.member[1] for task in tasks]

    for _, alike in groupby(sorted(of_arm.values(), key=what), key=what):
        yield [task for tasks in alike for task in tasks]


def _where(task: plan.Task) -> list[str]:
    return [experiment.name for experiment in task.experiments]


def _job(block: list[plan.Task], device: str) -> Job:
    first, members = block[0], [task.member for task in block]
    where = _where(first)
    whose = " ".join(sorted(task.name for task in block))
    digest = hashlib.sha256(whose.encode()).hexdigest()
    return Job(
        f"{where[0].replace('/', '-')}-{digest[:10]}",
        where,
        first.experiments[0].scale,
        device,
        first.matmul,
        list(dict.fromkeys(arm.name for arm, _ in members)),
        list(dict.fromkeys(seed for _, seed in members)),
        round(cost.seconds(members, device), 1),
    )
