"""Who trains what, where: processes on a CPU, stacks on a GPU; nothing is lost.

What experiments lack is trained and goes into their records member by member. On a CPU
a pool of processes, one thread each, takes one member at a time; on a GPU members of
one kind are stacked in this process. Checkpoints lie in ``.checkpoints`` below the
records and vanish with success.
"""

import gc
import io
import math
import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import torch

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
from grokbook.experiment import Arm, Experiment, Member, Result
from grokbook.names import check

STACK_LIMIT = 128  # members of one kind that share a GPU at a time


@dataclass
class Task:
    """A member, the library it is multiplied with, and the records it belongs to."""

    member: Member
    matmul: str
    experiments: list[Experiment]
    seeds: int  # recorded, or planned before it, of its arm
    seconds: float | None  # that it may take, where records tell

    @property
    def name(self) -> str:
        """Name of its checkpoint."""
        return f"{self.member[0].hash()}-{self.member[1]}-{self.matmul}"


def tasks(
    experiments: Sequence[Experiment],
    out: Path | None,
    on: str,
    matmul: str | None = None,
    *,
    replace: bool = False,
) -> list[Task]:
    """What is missing: arms with the fewest seeds first, the cheapest among them.

    A member that two experiments share is trained once.
    """
    found: dict[str, Task] = {}
    for experiment in experiments:
        done = records.recorded(experiment, out)
        due = {(arm.name, seed) for arm, seed in records.missing(experiment, out)}
        library = "cuBLAS" if on == "cuda" else _library(done, matmul)
        seeds = {arm.name: 0 for arm in experiment.arms}
        for key in done:
            seeds[key.rpartition("|")[0]] += 1
        for arm, seed in experiment.members():
            if (arm.name, seed) not in due and not replace:
                continue
            seconds = expected(arm, done, on)
            task = Task((arm, seed), library, [], seeds[arm.name], seconds)
            found.setdefault(task.name, task).experiments.append(experiment)
            seeds[arm.name] += 1  # the next seed of this arm is worth less

    def order(task: Task) -> tuple[int, float]:
        return task.seeds, math.inf if task.seconds is None else task.seconds

    return sorted(found.values(), key=order)


def _library(recorded: Mapping[str, Any], asked: str | None) -> str:
    """The matmul library: the one asked for, else that of the other CPU members."""
    named = {one["matmul"] for one in recorded.values() if one["device"] == "cpu"}
    return asked or (named.pop() if len(named) == 1 else devices.matmul_library())


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
    matmul: str | None = None,
    out: Path | None = None,
    time_budget: float | None = None,
    processes: int | None = None,
    seeds: Collection[int] | None = None,
    arms: str | Sequence[str] = "*",
    replace: bool = False,
    keep_going: bool = False,
) -> list[records.Record]:
    """Train the members that experiments still lack and return their records.

    ``matmul``: library of the CPU, by default that of the record, else the processor's.
    After ``time_budget`` seconds the state is saved, and a later call goes on.
    ``processes``: CPU workers, one per core by default; 0 trains in this process.
    ``seeds``, ``arms``: only these, arms by patterns. ``replace``: also members that
    are there. ``keep_going``: what fails is told when all others are trained.
    RecordError or TrainingError if something stands in the way; Unfinished if the time
    was too short for any member of an experiment without a record.
    """
    on = devices.choose_device(device)
    patterns = [arms] if isinstance(arms, str) else arms
    records.commit()  # asked for before the training, which may take hours
    for arm in (arm for experiment in experiments for arm in experiment.arms):
        check(arm)
    todo = [
        task
        for task in tasks(experiments, out, on, matmul, replace=replace)
        if (seeds is None or task.member[1] in seeds)
        and any(fnmatchcase(task.member[0].name, one) for one in patterns)
    ]
    with _Site(out, time_budget, todo, keep_going) as site:
        if on == "cuda":
            _here(groups(todo), on, site)
        elif processes == 0:
            _here([[task] for task in todo], on, site)
        elif todo:
            _in_processes(todo, site, min(processes or cores(), len(todo)))
    if replace and site.left:
        raise Unfinished(
            f"{site.left} of {len(todo)} members are not trained again yet: name "
            "those that are left with --arms and --seeds"
        )
    try:
        return [records.load(experiment, out) for experiment in experiments]
    except NoRecord as error:
        raise Unfinished(
            f"no member finished within the time budget ({error}): run the same "
            "command again to go on from the checkpoints"
        ) from error


def cores() -> int:
    """CPU cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Site:
    """Where a run keeps its states, puts its results and shows its progress."""

    def __init__(
        self,
        out: Path | None,
        time_budget: float | None,
        todo: list[Task],
        keep_going: bool,
    ):
        self.out, self.keep_going, self.failed = out, keep_going, list[str]()
        self.left, self.recorded = len(todo), 0
        self.deadline = math.inf if time_budget is None else time.time() + time_budget
        self.folder = (out or project.records_folder()) / ".checkpoints"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.bar = _bar(todo)

    def __enter__(self) -> "_Site":
        return self

    def __exit__(self, kind: type | None, *error: object) -> None:
        if self.bar is not None:
            self.bar.close()
        if self.failed and kind is None:
            failure = Unfinished if self.time_is_up() else TrainingError
            told = "; ".join(dict.fromkeys(self.failed))
            raise failure(f"{self.recorded} members recorded, of the others: {told}")

    def failing(self, error: GrokbookError) -> None:
        """Raise an error, or hold it until the others are trained."""
        if not self.keep_going:
            raise error
        self.failed.append(str(error))

    def checkpoint(self, tasks: list[Task]) -> Path:
        many = "" if len(tasks) == 1 else f"-x{len(tasks)}"
        return self.folder / (tasks[0].name + many)

    def time_is_up(self) -> bool:
        return time.time() > self.deadline

    def show(self, steps: int) -> None:
        """Tell that so many steps more were made."""
        if self.bar is not None:
            self.bar.update(steps)

    def finish(self, tasks: list[Task], results: Sequence[Result]) -> None:
        """Put results into the records of their experiments, then forget the state."""
        mine: dict[str, list[Result]] = {}
        known = {one.name: one for task in tasks for one in task.experiments}
        for task, result in zip(tasks, results, strict=True):
            for experiment in task.experiments:
                mine.setdefault(experiment.name, []).append(result)
        for name, some in mine.items():
            records.add(known[name], some, self.out)
        self.left, self.recorded = self.left - len(tasks), self.recorded + len(tasks)
        state = self.checkpoint(tasks)
        for old in (state, *self.folder.glob(f"{state.name}.*.part")):  # of the killed
            old.unlink(missing_ok=True)


def _bar(todo: list[Task]) -> Any:
    """A bar of steps on stderr; None without tqdm, or where a notebook is executed."""
    if not todo or os.environ.get("GROKBOOK_PROGRESS") == "no":
        return None
    try:
        from tqdm import tqdm
    except ImportError:
        return None
    names = {one.name for task in todo for one in task.experiments}
    what = f"{min(names)} …" if len(names) > 1 else min(names)
    steps = sum(task.member[0].epochs for task in todo)
    every = 0.1 if sys.stderr is not None and sys.stderr.isatty() else 10
    return tqdm(desc=what, total=steps, unit=" steps", mininterval=every, leave=False)


def _here(waiting: list[list[Task]], on: str, site: _Site) -> None:
    while waiting and not site.time_is_up():
        group = waiting.pop(0)
        try:
            if not _train_group(group, on, site):
                return
        except torch.OutOfMemoryError:  # fewer at a time, or it is too large
            half = len(group) // 2
            if not half:
                who = group[0].member[0].name
                site.failing(TrainingError(f"arm {who!r} does not fit into the GPU"))
            waiting[:0] = [part for part in (group[:half], group[half:]) if half]
        except GrokbookError as error:
            site.failing(error)
        except Exception as error:  # of one group; the others can go on
            if not site.keep_going:
                raise
            site.failing(_told_of(group[0].member, error))
        finally:
            gc.collect()  # a learner and its graphs refer to each other
            if on == "cuda":
                torch.cuda.empty_cache()


def _told_of(member: Member, error: Exception) -> TrainingError:
    """An error that nobody foresaw, in one sentence that says whose it is."""
    reason = str(error).partition("\n")[0]
    kind = "" if isinstance(error, GrokbookError) else f"{type(error).__name__}: "
    who = f"arm {member[0].name!r}, seed {member[1]}"
    if who in reason or isinstance(error, DataError):  # a file lacks for all alike
        return TrainingError(reason)
    return TrainingError(f"{who}: {kind}{reason}")


def _train_group(tasks: list[Task], on: str, site: _Site) -> bool:
    """Train a group in this process and record it; False if the time was up."""
    checkpoint = site.checkpoint(tasks)
    told = _steps_of(lambda steps: site.show(steps * len(tasks)))
    try:
        results = loop.train(
            [task.member for task in tasks],
            on=on,
            matmul=tasks[0].matmul,
            stacked=len(tasks) > 1,
            checkpoint=checkpoint,
            should_stop=site.time_is_up,
            report=told,
        )
    except Diverged as error:
        pairs = zip(tasks, error.outcomes, strict=True)
        if finished := [(task, result) for task, result in pairs if result]:
            site.finish(*map(list, zip(*finished, strict=True)))
            checkpoint.unlink(missing_ok=True)  # of a stack that is whole no more
        raise
    if results is not None:
        site.finish(tasks, results)
    return results is not None


def _steps_of(tell: Callable[[int], Any]) -> Callable[[int], None]:
    """Tells of the steps since the last report; those of a checkpoint do not count."""
    last: list[int] = []

    def report(epoch: int) -> None:
        tell(epoch - last.pop() if last else 0)
        last.append(epoch)

    return report


# Processes ---------------------------------------------------------------------------


def _in_processes(todo: list[Task], site: _Site, count: int) -> None:
    """One member at a time in each of a few processes; the first failure stops all."""
    context = multiprocessing.get_context("spawn")
    stop, steps, seen = context.Event(), context.Value("q", 0), 0
    # read by a process when it imports torch
    os.environ |= {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
    workers = ProcessPoolExecutor(count, context, _prepare, (stop, steps))
    with workers as pool:
        jobs = {}
        for task in todo:
            (arm, seed), place = task.member, str(site.checkpoint([task]))
            what = arm.to_json(), seed, task.matmul, place, site.deadline
            jobs[pool.submit(_work, *what)] = task
        try:
            while jobs:
                done, _ = wait(jobs, timeout=1, return_when=FIRST_COMPLETED)
                seen, more = steps.value, steps.value - seen
                site.show(more)
                for job in done:
                    task = jobs.pop(job)
                    try:
                        packed = job.result()
                    except (TrainingError, DataError) as error:
                        site.failing(error)
                        continue
                    if packed:
                        told = torch.load(io.BytesIO(packed), weights_only=True)
                        site.finish([task], [Result(*task.member, **told)])
        except BrokenProcessPool as error:
            raise TrainingError(
                "a worker process ended without a word (out of memory?): run the same "
                "command again to go on from its checkpoint"
            ) from error
        finally:  # whatever happened, running members save their state and stop
            stop.set()
            pool.shutdown(cancel_futures=True)


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


def _work(
    plain: dict[str, Any], seed: int, matmul: str, place: str, deadline: float
) -> bytes | None:
    """In a worker: one member to its end, or None where training has to stop.

    The result as bytes: tensors sent as such would share memory with the worker.
    """

    def should_stop() -> bool:
        return _stop.is_set() or time.time() > deadline

    def tell(steps: int) -> None:
        with _steps.get_lock():
            _steps.value += steps

    if should_stop():
        return None
    member = Arm.from_json(plain), seed
    try:
        results = loop.train(
            [member],
            matmul=matmul,
            checkpoint=Path(place),
            should_stop=should_stop,
            report=_steps_of(tell),
        )
    except Exception as error:  # told in one sentence, whatever else it carries
        raise _told_of(member, error) from None
    if not results:
        return None
    content = {k: v for k, v in vars(results[0]).items() if k not in ("arm", "seed")}
    buffer = io.BytesIO()
    torch.save(content, buffer)
    return buffer.getvalue()
