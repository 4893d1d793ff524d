"""What is missing, in which order it is trained, and what it costs.

Most valuable first: arms with the fewest recorded seeds, the cheapest among them. On a
GPU the members of one kind form a group that is trained as a stack; on a CPU every
member is a group of its own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from grokbook import records
from grokbook.engine import build, cost, counted, device
from grokbook.errors import RecordError, TrainingError
from grokbook.experiment import Experiment, Member

STACK_LIMIT = 128  # members of one kind that share a GPU at a time
LARGE = 2e9  # FLOP of a batch's forward pass with which one member fills a GPU


@dataclass
class Task:
    """A member, the library it is multiplied with, and the records it belongs to."""

    member: Member
    matmul: str
    experiments: list[Experiment]
    seeds: int = 0  # recorded, or planned before it, of its arm

    @property
    def name(self) -> str:
        """Name of its checkpoint."""
        arm, seed = self.member
        return f"{arm.hash()}-{seed}-{self.matmul}"


def tasks(
    experiments: Sequence[Experiment],
    out: Path | None,
    on: str,
    matmul: str | None = None,
    *,
    replace: bool = False,
) -> list[Task]:
    """What is missing; a member that two experiments share is trained once."""
    found: dict[str, Task] = {}
    for experiment in experiments:
        library = "cuBLAS" if on == "cuda" else _library(experiment, out, matmul)
        lacking = records.missing(experiment, out)
        done = _recorded(experiment, out)
        for arm, seed in list(experiment.members()) if replace else lacking:
            task = Task((arm, seed), library, [], done.get(arm.name, 0))
            found.setdefault(task.name, task).experiments.append(experiment)
            if on == "cpu":  # the next seed of this arm is worth less
                done[arm.name] = task.seeds + 1
    return list(found.values())


def _library(experiment: Experiment, out: Path | None, asked: str | None) -> str:
    """The matmul library of a record: constant inside it, named by it."""
    path = records.path_of(experiment.name, experiment.scale, out)
    recorded = records.matmul(path)
    if asked and recorded and asked != recorded:
        raise TrainingError(
            f"{path.name} was trained with {recorded}, not {asked}, and the arms of a "
            "record share a library: leave --matmul out, or give another folder"
        )
    return asked or recorded or device.matmul_library()


def _recorded(experiment: Experiment, out: Path | None) -> dict[str, int]:
    """Number of seeds that are there, by arm; none of a record that cannot be used."""
    try:
        record = records.load(experiment, out)
    except RecordError:
        return {}
    return {arm.name: len(record.seeds(arm.name)) for arm in experiment.arms}


def planned(todo: Sequence[Task], on: str) -> list[tuple[list[Task], float]]:
    """(group, expected seconds), most valuable first."""
    every = groups(todo) if on == "cuda" else ([task] for task in todo)
    priced = [(g, cost.seconds([task.member for task in g], on)) for g in every]
    return sorted(priced, key=lambda one: (min(t.seeds for t in one[0]), one[1]))


def groups(tasks: Sequence[Task]) -> Iterator[list[Task]]:
    """Tasks that can be stacked on a GPU, at most ``STACK_LIMIT`` at a time."""
    found: dict[str, list[Task]] = {}
    for task in tasks:
        found.setdefault(build.kind(task.member[0]), []).append(task)
    for group in found.values():
        arm = group[0].member[0]
        size = STACK_LIMIT
        if arm.eval_batch and counted.forward_flop(arm) * (arm.batch_size or 1) > LARGE:
            size = 1
        for first in range(0, len(group), size):
            yield group[first : first + size]
