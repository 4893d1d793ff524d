"""Who trains what, where: processes on a CPU, stacks on a GPU; nothing is lost.

On a CPU a pool of processes, one thread each, takes one member at a time; on a GPU
members of one kind are stacked in this process. Whoever has trained a member writes its
file. Checkpoints lie in ``.checkpoints`` below the records and vanish with success.
"""

import contextlib
import gc
import math
import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Collection, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from grokbook import project, records
from grokbook.durations import expected
from grokbook.engine import build, loop
from grokbook.engine import device as devices
from grokbook.errors import (
    DataError,
    Diverged,
    GrokbookError,
    NoRecord,
    TrainingError,
    Unfinished,
)
from grokbook.experiment import Experiment, Member
from grokbook.names import check

STACK_LIMIT = 128  # members of one kind that share a GPU at a time
Outcome = tuple[int, GrokbookError | None]  # members recorded, and what went wrong


@dataclass
class Task:
    """A member, and the experiments that it belongs to."""

    member: Member
    experiments: list[Experiment]
    seeds: int  # recorded, or planned before it, of its arm
    seconds: float | None  # that it may take, where records tell

    @property
    def name(self) -> str:
        """Name of its checkpoint."""
        return f"{self.member[0].hash()}-{self.member[1]}"


def tasks(
    experiments: Sequence[Experiment],
    out: Path | None,
    on: str,
    *,
    seeds: Collection[int] | None = None,
    arms: Collection[str] = ("*",),
    replace: bool = False,
) -> list[Task]:
    """What is missing: arms with the fewest seeds first, the cheapest among them.

    A member that two experiments share is trained once. ``seeds`` and ``arms``, by
    patterns: only these. ``replace``: also members that are there.
    """
    found: dict[str, Task] = {}
    for experiment in experiments:
        done = records.recorded(experiment, out)
        due = {(arm.name, seed) for arm, seed in records.missing(experiment, out)}
        there = [key.rpartition("|")[0] for key in done]
        many = {arm.name: there.count(arm.name) for arm in experiment.arms}
        for arm, seed in experiment.members():
            if (arm.name, seed) in due or replace:
                task = Task((arm, seed), [], many[arm.name], expected(arm, done, on))
                found.setdefault(task.name, task).experiments.append(experiment)
                many[arm.name] += 1  # the next seed of this arm is worth less

    def is_wanted(arm: str, seed: int) -> bool:
        fits = any(fnmatchcase(arm, pattern) for pattern in arms)
        return fits and (seeds is None or seed in seeds)

    def order(task: Task) -> tuple[int, float]:
        return task.seeds, math.inf if task.seconds is None else task.seconds

    wanted = (t for t in found.values() if is_wanted(t.member[0].name, t.member[1]))
    return sorted(wanted, key=order)


def groups(todo: Sequence[Task]) -> list[list[Task]]:
    """Tasks that can be stacked on a GPU."""
    found: dict[str, list[Task]] = {}
    for task in todo:
        found.setdefault(build.kind(task.member[0]), []).append(task)
    return [
        group[first : first + size]
        for group in found.values()
        for size in [1 if build.alone(group[0].member[0]) else STACK_LIMIT]
        for first in range(0, len(group), size)
    ]


def run(experiment: Experiment, **how: Any) -> records.Record:
    """Train the members one experiment still lacks: ``run_all`` with one of them."""
    return run_all([experiment], **how)[0]


def run_all(
    experiments: Sequence[Experiment],
    *,
    device: str = "auto",
    out: Path | None = None,
    time_budget: float | None = None,
    processes: int | None = None,
    keep_going: bool = False,
    **which: Any,
) -> list[records.Record]:
    """Train the members that experiments still lack and return their records.

    ``which``: as in ``tasks``. After ``time_budget`` seconds the state is saved, and a
    later call goes on. ``processes``: CPU workers, one per core by default; 0 trains in
    this process. ``keep_going``: what fails is told when all others are trained.
    RecordError or TrainingError if something stands in the way; Unfinished if the time
    was too short for any member of an experiment without a record.
    """
    on = devices.choose_device(device)
    records.commit()  # asked for before the training, which may take hours
    for arm in (arm for experiment in experiments for arm in experiment.arms):
        check(arm)
    todo = tasks(experiments, out, on, **which)
    deadline = math.inf if time_budget is None else time.time() + time_budget
    recorded, failed = 0, list[str]()
    with _bar(todo) as bar:
        if processes == 0 or on == "cuda":
            waiting = groups(todo) if on == "cuda" else [[task] for task in todo]
            outcomes = _here(waiting, on, out, deadline, bar)
        else:
            outcomes = _in_processes(todo, processes or _cores(), out, deadline, bar)
        with contextlib.closing(outcomes):
            for many, error in outcomes:
                recorded += many
                if error and not keep_going:
                    raise error
                failed += [str(error)] if error else []
    if failed:
        failure = Unfinished if time.time() > deadline else TrainingError
        told = "; ".join(dict.fromkeys(failed))
        raise failure(f"{recorded} members recorded, of the others: {told}")
    if which.get("replace") and (left := len(todo) - recorded):
        raise Unfinished(
            f"{left} of {len(todo)} members are not trained again yet: name those that "
            "are left with --arms and --seeds"
        )
    try:
        return [records.load(experiment, out) for experiment in experiments]
    except NoRecord as error:
        raise Unfinished(
            f"no member finished within the time budget ({error}): run the same "
            "command again to go on from the checkpoints"
        ) from error


def _cores() -> int:
    may = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))
    return len(may(0))


def _bar(todo: list[Task]) -> Any:
    """A bar of steps on stderr, but where a notebook is executed."""
    steps = sum(task.member[0].epochs for task in todo)
    silent = not todo or os.environ.get("GROKBOOK_PROGRESS") == "no"
    often = 0.1 if sys.stderr and sys.stderr.isatty() else 10
    how = {"unit": " steps", "mininterval": often, "leave": False}
    return tqdm(total=steps, disable=silent, **how)


def _here(
    waiting: list[list[Task]], on: str, out: Path | None, deadline: float, bar: Any
) -> Generator[Outcome, None, None]:
    """Group after group in this process; one that does not fit a GPU is halved."""

    def is_late() -> bool:
        return time.time() > deadline

    while waiting and not is_late():
        group = waiting.pop(0)
        half = len(group) // 2
        try:
            outcome = _train(group, out, is_late, bar.update, on=on)
        except torch.OutOfMemoryError:
            if half:
                waiting[:0] = [group[:half], group[half:]]
                continue
            who = group[0].member[0].name
            outcome = 0, TrainingError(f"arm {who!r} does not fit into the GPU")
        finally:
            gc.collect()  # a learner and its graphs refer to each other
            if on == "cuda":
                torch.cuda.empty_cache()
        yield outcome


def _train(
    group: list[Task],
    out: Path | None,
    should_stop: Callable[[], bool],
    tell: Callable[[int], Any],
    **how: Any,
) -> Outcome:
    """Train a group until it ends or has to stop, and put it into the records.

    ``tell``: told of steps as they are made. torch.OutOfMemoryError is the caller's.
    """
    folder = (out or project.records_folder()) / ".checkpoints"
    many, last, failure = len(group), list[int](), None
    checkpoint = folder / (group[0].name + (f"-x{many}" if many > 1 else ""))

    def report(epoch: int) -> None:
        tell(many * (epoch - last.pop()) if last else 0)  # not those of a checkpoint
        last.append(epoch)

    try:
        folder.mkdir(parents=True, exist_ok=True)
        how |= {"stacked": many > 1, "checkpoint": checkpoint, "report": report}
        members = [task.member for task in group]
        try:
            results = loop.train(members, should_stop=should_stop, **how)
        except Diverged as error:
            results, failure = error.outcomes, TrainingError(str(error))
        finished = [pair for pair in zip(group, results or (), strict=False) if pair[1]]
        for one in {e.name: e for task in group for e in task.experiments}.values():
            mine = [result for task, result in finished if one in task.experiments]
            records.add(one, mine, out)
        if results is not None:
            for old in (checkpoint, *folder.glob(f"{checkpoint.name}.*.part")):
                old.unlink(missing_ok=True)  # also what a killed worker was writing
        return len(finished), failure
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # told in one sentence, whatever else it carries
        return 0, _told_of(group[0].member, error)


def _told_of(member: Member, error: Exception) -> GrokbookError:
    """What went wrong, in one sentence that says whose it is."""
    reason = str(error).partition("\n")[0]
    kind = "" if isinstance(error, GrokbookError) else f"{type(error).__name__}: "
    who = f"arm {member[0].name!r}, seed {member[1]}"
    is_of_all = isinstance(error, DataError)  # a file lacks for all alike
    return TrainingError(reason if is_of_all else f"{who}: {kind}{reason}")


# Processes ---------------------------------------------------------------------------


def _in_processes(
    todo: list[Task], count: int, out: Path | None, deadline: float, bar: Any
) -> Generator[Outcome, None, None]:
    """One member at a time in each of a few processes, fewer where one was killed."""
    context = multiprocessing.get_context("spawn")
    stop, steps, seen = context.Event(), context.Value("q", 0), 0
    # read by a process when it imports torch
    os.environ |= {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
    count = max(1, min(count, len(todo)))
    pool = ProcessPoolExecutor(count, context, _prepare, (stop, steps))
    jobs = {pool.submit(_work, task, out, deadline): task for task in todo}
    try:
        while jobs:
            done, _ = wait(jobs, timeout=1, return_when=FIRST_COMPLETED)
            bar.update(steps.value - seen)
            seen = steps.value
            for job in done:
                outcome = job.result()
                del jobs[job]
                yield outcome
    except BrokenProcessPool:
        pass
    finally:  # whatever happened, running members save their state and stop
        stop.set()
        pool.shutdown(cancel_futures=True)
    left, told = [*jobs.values()], "a worker process ended without a word (no memory?)"
    if left and count > 1:
        warnings.warn(f"{told}: fewer at a time go on", stacklevel=2)
        yield from _in_processes(left, count // 2, out, deadline, bar)
    elif left:
        again = "run the same command again to go on from its checkpoint"
        yield 0, TrainingError(f"{told}: {again}")


_stop: Any = None
_steps: Any = None


def _prepare(stop: Any, steps: Any) -> None:
    """Set up a worker process: one thread, and an end with its parent's."""
    global _stop, _steps
    _stop, _steps = stop, steps
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent tells when to stop
    warnings.showwarning = lambda message, *_, **__: print(
        f"grokbook: warning: {message}", file=sys.stderr
    )
    devices.prepare_cpu()
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if parent := multiprocessing.parent_process():
        parent.join()
    os._exit(1)


def _work(task: Task, out: Path | None, deadline: float) -> Outcome:
    """In a worker: one member to its end, or to where training has to stop."""

    def should_stop() -> bool:
        return _stop.is_set() or time.time() > deadline

    def tell(steps: int) -> None:
        with _steps.get_lock():
            _steps.value += steps

    return (0, None) if should_stop() else _train([task], out, should_stop, tell)
