"""Who trains what, where: a member per process on a CPU, stacks on a GPU.

Who has trained a member writes its file. Checkpoints lie in ``.checkpoints`` below the
records and vanish with success.
"""

import dataclasses
import gc
import math
import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from claimbook import errors, project, records
from claimbook.engine import build, loop
from claimbook.engine import device as devices
from claimbook.experiment import Experiment, Member

STACK_LIMIT = 128  # members of one kind that share a GPU at a time
Outcome = tuple[int, str]  # members recorded, and what went wrong with others


@dataclasses.dataclass
class Task:
    """A member, the experiments it belongs to, and how many seeds go before it."""

    member: Member
    experiments: list[Experiment]
    seeds: int
    out: Path | None

    @property
    def checkpoint(self) -> Path:
        folder = self.out or project.records_folder()
        return folder / ".checkpoints" / f"{self.member[0].hash()}-{self.member[1]}"


def tasks(
    experiments: Sequence[Experiment],
    out: Path | None = None,
    *,
    seeds: Collection[int] = (),
    arms: Collection[str] = (),
    replace: bool = False,
) -> list[Task]:
    """What a folder lacks, arms with the fewest seeds first; what is shared, once.

    Shared is what arms train and look at alike, whatever they are called. ``seeds`` and
    ``arms``, by patterns: only these. ``replace``: also what is there.
    """
    found: dict[tuple[str, int], Task] = {}
    patterns = arms or ["*"]
    for experiment in experiments:
        every = [*experiment.members()]
        due = every if replace else records.missing(experiment, out)
        many = Counter(arm.name for arm, _ in every)
        many.subtract(arm.name for arm, _ in due)
        for arm, seed in due:
            task = Task((arm, seed), [], many[arm.name], out)
            many[arm.name] += 1
            is_named = any(fnmatchcase(arm.name, pattern) for pattern in patterns)
            if not is_named or (seeds and seed not in seeds):
                continue
            nameless = dataclasses.replace(arm, name="").hash()
            whose = found.setdefault((nameless, seed), task).experiments
            if experiment not in whose:
                whose.append(experiment)
    return sorted(found.values(), key=lambda task: task.seeds)


def groups(todo: Sequence[Task]) -> Iterator[list[Task]]:
    """Tasks that can be stacked on a GPU."""
    found: dict[str, list[Task]] = {}
    for task in todo:
        found.setdefault(build.stack_key(task.member[0]), []).append(task)
    for group in found.values():
        size = 1 if build.trains_alone(group[0].member[0]) else STACK_LIMIT
        yield from (group[k : k + size] for k in range(0, len(group), size))


def run(experiment: Experiment, out: Path | None = None, **how: Any) -> records.Record:
    """Train what an experiment lacks, as ``train`` does, and return its record."""
    train(tasks([experiment], out), **how)
    return records.load(experiment, out)


def train(
    todo: Sequence[Task],
    *,
    device: str = "auto",
    time_budget: float = math.inf,
    processes: int | None = None,
) -> int:
    """Train members and record each that ends; how many the time did not suffice for.

    After ``time_budget`` seconds the state is saved, and a later call goes on.
    ``processes``: CPU workers, one per core by default; 0: in this process. What fails
    is told at the end: TrainingError, or Unfinished if the time was short as well.
    """
    on, deadline = devices.choose_device(device), time.time() + time_budget
    recorded, faults = 0, list[str]()
    steps = sum(task.member[0].epochs for task in todo)
    silent = not todo or os.environ.get("GROKBOOK_PROGRESS") == "no"
    how: dict[str, Any] = {"unit": " steps", "mininterval": 1, "leave": False}
    with tqdm(total=steps, disable=silent, **how) as bar:
        if on == "cuda" or processes == 0 or not todo:
            waiting = [*groups(todo)] if on == "cuda" else [[task] for task in todo]
            outcomes = _here(waiting, on, deadline, bar)
        else:
            count = processes or os.cpu_count() or 1
            outcomes = _in_processes(todo, count, deadline, bar)
        for many, fault in outcomes:
            recorded += many
            faults += [fault] if fault else []
    if faults:
        is_late = time.time() > deadline
        failure = errors.Unfinished if is_late else errors.TrainingError
        told = "; ".join(dict.fromkeys(faults))
        raise failure(f"{recorded} members recorded, of the others: {told}")
    return len(todo) - recorded


def _here(waiting: list[list[Task]], on, deadline: float, bar) -> Iterator[Outcome]:
    """Group after group in this process; one that does not fit a GPU is halved."""
    project.note_code()  # of now: training may take hours
    while waiting and time.time() < deadline:
        group = waiting.pop(0)
        half = len(group) // 2
        try:
            yield _train(group, on, lambda: time.time() > deadline, bar.update)
        except torch.OutOfMemoryError:
            waiting[:0] = [group[:half], group[half:]] if half else []
            if not half:
                yield 0, f"arm {group[0].member[0].name!r} does not fit into the GPU"
        gc.collect()  # a learner and its graphs refer to each other
        torch.cuda.empty_cache()


def _train(
    group: list[Task], on: str, should_stop: Callable, tell: Callable[[int], Any]
) -> Outcome:
    """Train a group to its end or a stop, and record it; ``tell`` hears of steps."""
    members, many = [task.member for task in group], len(group)
    fault, checkpoint = "", group[0].checkpoint
    if many > 1:
        checkpoint = checkpoint.with_name(f"{checkpoint.name}-x{many}")
    last_epoch: int | None = None  # steps of a checkpoint were told of before

    def report(epoch: int) -> None:
        nonlocal last_epoch
        if last_epoch is not None:
            tell(many * (epoch - last_epoch))
        last_epoch = epoch

    how: dict[str, Any] = {"on": on, "stacked": many > 1, "checkpoint": checkpoint}
    try:
        checkpoint.parent.mkdir(parents=True, exist_ok=True)
        try:
            results = loop.train(members, should_stop=should_stop, report=report, **how)
        except errors.Diverged as error:
            results, fault = error.outcomes, str(error)
        done = [pair for pair in zip(group, results or (), strict=False) if pair[1]]
        for task, result in done:
            for experiment in task.experiments:
                records.add(experiment, result, task.out)
        if results is not None:  # what a killed worker was writing goes too
            checkpoint.unlink(missing_ok=True)
            for part in checkpoint.parent.glob(f"{checkpoint.name}.*.part"):
                part.unlink(missing_ok=True)
        return len(done), fault
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # one sentence, whatever else it carries
        is_sentence = isinstance(error, errors.BookError | OSError)
        told = str(error) if is_sentence else repr(error)
        who = f"arm {members[0][0].name!r}, seed {members[0][1]}: "
        return 0, told if isinstance(error, errors.DataError) else who + told


def _in_processes(todo: Sequence[Task], count, deadline, bar) -> Iterator[Outcome]:
    """One member at a time in each of a few processes, fewer where one was killed."""
    context = multiprocessing.get_context("spawn")
    count, seen = min(count, len(todo)), 0
    stop, steps = context.Event(), context.Value("q", 0)
    # read by a process when it imports torch
    os.environ |= {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
    pool = ProcessPoolExecutor(count, context, _prepare, (stop, steps))
    jobs = {pool.submit(_work, task, deadline): task for task in todo}
    left: list[Task] = []  # whose worker ended, or was ended with another
    try:
        while jobs:
            done, _ = wait(jobs, timeout=1, return_when=FIRST_COMPLETED)
            bar.update(steps.value - seen)
            seen = steps.value
            for job in done:
                task = jobs.pop(job)
                try:
                    outcome = job.result()
                except BrokenProcessPool:  # then all that have not ended are broken
                    left.append(task)
                else:
                    yield outcome
    finally:  # whatever happened, running members save their state and stop
        stop.set()
        pool.shutdown(cancel_futures=True)
    message = "a worker process ended without a word (no memory?)"
    if left and count > 1:
        warnings.warn(f"{message}: fewer at a time go on", stacklevel=2)
        yield from _in_processes(left, count // 2, deadline, bar)
    elif left:
        yield 0, f"{message}: the same command goes on from its checkpoint"


_SHARED: dict[str, Any] = {}  # of a worker with its parent: whether to stop, steps made


def _prepare(stop: Any, steps: Any) -> None:
    """Set up a worker process: one thread, and an end with its parent's."""
    _SHARED.update(stop=stop, steps=steps)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent tells when to stop
    threading.Thread(target=_end_with_parent, daemon=True).start()
    errors.warn_in_one_line()
    devices.prepare_cpu()
    project.note_code()


def _end_with_parent() -> None:
    if parent := multiprocessing.parent_process():
        parent.join()
    os._exit(1)


def _work(task: Task, deadline: float) -> Outcome:
    """In a worker: one member to its end, or to where training has to stop."""

    def should_stop() -> bool:
        return _SHARED["stop"].is_set() or time.time() > deadline

    def tell(many: int) -> None:
        with _SHARED["steps"].get_lock():
            _SHARED["steps"].value += many

    return (0, "") if should_stop() else _train([task], "cpu", should_stop, tell)
