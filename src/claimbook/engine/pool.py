"""Train experiments: one member per process on a CPU, stacks of members on a GPU.

Several processes share a GPU where that is faster. The process that trained a member
writes its record. Checkpoints lie in ``.checkpoints`` below the records and are removed
when their members are recorded.
"""

import contextlib
import dataclasses
import functools
import gc
import math
import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.sharedctypes import SynchronizedArray
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import torch

from claimbook import errors, project, records
from claimbook.engine import build, loop
from claimbook.engine import device as devices
from claimbook.engine.learner import Learner
from claimbook.experiment import Arm, Experiment, Member, is_named

with errors.needing_extra():
    from tqdm import tqdm

STACK_LIMIT = 128  # members of one `build.stack_key` that share a GPU at a time
GPU_PROCESSES = 4  # processes that share a GPU, where they can compute at the same time
LOG_SECONDS = 300  # between two lines of progress in a log
MOST_REASONS = 3  # how many different failures one sentence names
Outcome = tuple[int, str]  # members recorded, and the message of a failure or ""


@dataclasses.dataclass
class Task:
    """A member, an arm with a seed, to train for all ``experiments`` that share it.

    ``seeds_before`` is how many members of its arm are recorded or come before it, and
    ``out`` the folder for its record, or None for the book's records.
    """

    arm: Arm
    seed: int
    experiments: list[Experiment]
    seeds_before: int
    out: Path | None

    @property
    def member(self) -> Member:
        return self.arm, self.seed

    @property
    def checkpoint(self) -> Path:
        folder = self.out or project.records_folder()
        return folder / ".checkpoints" / f"{self.arm.hash()}-{self.seed}"


def tasks(
    experiments: Sequence[Experiment],
    out: Path | None = None,
    *,
    seeds: Collection[int] = (),
    arms: Collection[str] = (),
    replace: bool = False,
) -> list[Task]:
    """Return the trainings that the experiments' records lack, fewest seeds first.

    ``out`` is the folder of the records, by default the book's. Members whose arms
    differ in name alone are one training. A task comes the earlier, the fewer members
    of its arm precede it: recorded ones, and missing ones of seeds before its own,
    selected or not. ``seeds`` and ``arms`` (patterns of `fnmatch`) select members; by
    default all are, and seeds or arms that no experiment has select none. With
    ``replace`` members that are recorded are trained again, and count as missing.
    Nothing is trained here.
    """
    errors.refuse_text("arms", arms)
    task_by_key: dict[tuple[str, int], Task] = {}
    for experiment in experiments:
        members = [*experiment.members()]
        due = members if replace else records.missing(experiment, out)
        seeds_before = Counter(arm.name for arm, _ in members)
        seeds_before.subtract(arm.name for arm, _ in due)  # leaves the recorded ones
        for arm, seed in due:
            before = seeds_before[arm.name]
            task = Task(arm, seed, experiments=[], seeds_before=before, out=out)
            seeds_before[arm.name] += 1  # above the selection, which so changes none
            if not is_named(arm, arms) or (seeds and seed not in seeds):
                continue
            nameless = dataclasses.replace(arm, name="").hash()
            # the task of an experiment before this one, or else the new one
            shared = task_by_key.setdefault((nameless, seed), task)
            if experiment not in shared.experiments:
                shared.experiments.append(experiment)
    return sorted(task_by_key.values(), key=lambda task: task.seeds_before)


def try_out(todo: Sequence[Task]) -> None:
    """Take one step on the CPU with the first member of each `build.stack_key`.

    Nothing is recorded. Raises TrainingError, or another BookError, if a step cannot be
    taken. So settings that nobody has trained yet fail at once, before hours with other
    members; but of arms that differ in numbers alone only the first is tried.
    """
    for task, *_ in _groups_by_kind(todo):
        try:
            Learner([task.member]).step()
        except errors.BookError:
            raise
        except Exception as error:  # of data set, network or loss: any kind
            message = f"arm {task.arm.name!r} cannot be trained with these settings"
            raise errors.TrainingError(f"{message}: {error}") from error


def groups(todo: Sequence[Task]) -> Iterator[list[Task]]:
    """Yield lists of tasks whose members can be stacked on a GPU.

    A list has from 1 to ``STACK_LIMIT`` tasks. A member that cannot be stacked
    (`build.trains_alone`) is a list of its own.
    """
    for group in _groups_by_kind(todo):
        size = 1 if build.trains_alone(group[0].arm) else STACK_LIMIT
        for first in range(0, len(group), size):
            yield group[first : first + size]


def _groups_by_kind(todo: Sequence[Task]) -> Collection[list[Task]]:
    """Return lists of tasks, one list for each `build.stack_key` of their arms."""
    kinds: dict[str, list[Task]] = {}
    for task in todo:
        kinds.setdefault(build.stack_key(task.arm), []).append(task)
    return kinds.values()


def run(
    experiment: Experiment, out: Path | None = None, **settings: Any
) -> records.Record:
    """Train what an experiment lacks and return its record.

    ``out`` is the folder of the record, by default the book's records. ``settings`` are
    keyword arguments of ``train``. If their ``time_budget`` is over too early, the
    record has the members that ended. Raises NoRecord if there is none, and
    TrainingError if a member failed.
    """
    train(tasks([experiment], out), **settings)
    return records.load(experiment, out)


def train(
    todo: Sequence[Task],
    *,
    device: str = "auto",
    time_budget: float = math.inf,
    processes: int | None = None,
) -> int:
    """Train members and record each that ends; return how many are left at the end.

    ``device`` is "auto", "cpu" or "cuda". After ``time_budget`` seconds the state is
    saved, and a later call goes on from it with the members that are left; if the time
    suffices, none is. ``processes`` is the number of workers. On a CPU each trains one
    member, and by default there is one per core; with 0 this process trains. On a GPU
    each trains a stack, and by default this process alone does, or ``GPU_PROCESSES`` do
    where NVIDIA's multi-process service lets them compute at the same time. If a member
    fails, the others are trained all the same, and at the end it raises TrainingError,
    or Unfinished if the time was too short as well.
    """
    device = devices.choose_device(device)
    deadline = time.time() + time_budget
    recorded_count = 0
    faults: list[str] = []
    total_steps = sum(task.arm.epochs for task in todo)
    progress = os.environ.get("GROKBOOK_PROGRESS", "")  # "no", "log" or else a bar
    if not (progress or os.isatty(2) or "ipykernel" in sys.modules):
        progress = "log"  # where a bar would leave a line a second
    with tqdm(
        total=total_steps,
        disable=not todo or progress == "no",
        unit=" steps",
        mininterval=LOG_SECONDS if progress == "log" else 1,
        maxinterval=LOG_SECONDS,
    ) as bar:
        if device == "cuda":
            waiting = [*groups(todo)]
            workers = GPU_PROCESSES if devices.is_gpu_shared() else 1
        else:
            waiting = [[task] for task in todo]
            workers = os.cpu_count() or 1
        if processes is not None:
            workers = processes
        is_alone = workers == 0 or (device == "cuda" and workers == 1)
        if is_alone or not todo:  # a pool of workers has to have one
            outcomes = _in_this_process(waiting, device, deadline, bar)
        else:
            outcomes = _in_processes(waiting, device, workers, deadline, bar)
        for count, fault in outcomes:  # a generator, which trains when it is asked
            recorded_count += count
            if fault:
                faults.append(fault)
        if recorded_count == len(todo):
            # steps that a stop made needless
            bar.update(total_steps - bar.n)
    if faults:
        # the exit code of Unfinished says that the same command goes on
        is_late = time.time() > deadline
        failure = errors.Unfinished if is_late else errors.TrainingError
        reasons = [*dict.fromkeys(faults)]
        if len(reasons) > MOST_REASONS:
            left_out = len(reasons) - MOST_REASONS
            reasons[MOST_REASONS:] = [f"and {left_out} more failed"]
        raise failure(
            f"{recorded_count} members recorded, of the others: {'; '.join(reasons)}"
        )
    return len(todo) - recorded_count


def _in_this_process(
    waiting: list[list[Task]], device: str, deadline: float, bar: tqdm
) -> Iterator[Outcome]:
    """Train one group after the other in this process; yield the outcome of each.

    ``waiting`` has the groups, and loses those that were begun. After ``deadline``, a
    time of `time.time`, the present group is saved and stopped, which yields no result,
    and no other is begun; without groups nothing is yielded. A group that does not fit
    into the memory of a GPU is halved, and a single member that does not is a failure.
    ``bar`` shows the steps.
    """
    project.note_code()  # training may take hours, in which the code may be edited
    count_steps = functools.partial(_add_steps, bar)
    while waiting and time.time() < deadline:
        group = waiting.pop(0)
        half = len(group) // 2
        try:
            yield _train_group(
                group, device, lambda: time.time() > deadline, count_steps
            )
        except torch.OutOfMemoryError:
            if half:
                waiting[:0] = [group[:half], group[half:]]
            else:
                yield 0, f"arm {group[0].arm.name!r} does not fit into the GPU"
        if device == "cuda":
            _free_gpu()


def _add_steps(bar: tqdm, made: int, saved: int) -> None:
    """Add steps to a bar, whose rate leaves out those that were saved earlier."""
    if saved and not bar.disable:  # a bar that is not shown has none of these
        bar.initial += saved
        bar.n += saved
        bar.last_print_n += saved
    bar.update(made)


def _free_gpu() -> None:
    """Free the GPU memory of a learner that has ended."""
    gc.collect()  # a learner and its graphs refer to each other
    torch.cuda.empty_cache()


def _train_group(
    group: list[Task],
    device: str,
    should_stop: Callable[[], bool],
    count_steps: Callable[[int, int], Any],
) -> Outcome:
    """Train a group to its end or a stop, and record each member that ended.

    It is stopped, and its state saved, when ``should_stop()`` turns true.
    ``count_steps(made, saved)`` is called at first with the number of steps that a
    checkpoint had, over all members, and then every few steps with the number of those
    made since the last call. The outcome has the message of any error but
    OutOfMemoryError, which is raised: the group may fit when it is halved. Of a stack
    in which some members diverge, the others are recorded.
    """
    members = [task.member for task in group]
    checkpoint = group[0].checkpoint
    fault = ""
    # else a stack would share the file of its first member, trained alone
    if len(group) > 1:
        checkpoint = checkpoint.with_name(f"{checkpoint.name}-x{len(group)}")
    last_epoch: int | None = None  # of the last report

    def report(epoch: int) -> None:
        nonlocal last_epoch
        if last_epoch is None:
            count_steps(0, len(group) * epoch)
        else:
            count_steps(len(group) * (epoch - last_epoch), 0)
        last_epoch = epoch

    try:
        checkpoint.parent.mkdir(parents=True, exist_ok=True)
        try:
            results = loop.train(
                members,
                device=device,
                stacked=len(group) > 1,
                checkpoint=checkpoint,
                should_stop=should_stop,
                report=report,
            )
        except errors.Diverged as error:
            results, fault = error.outcomes, str(error)
        if results is None:  # it was stopped
            return 0, fault
        ended_count = 0
        for task, result in zip(group, results, strict=True):
            if result:  # None for a member that diverged
                ended_count += 1
                for experiment in task.experiments:
                    records.add(experiment, result, task.out)
        checkpoint.unlink(missing_ok=True)
        project.remove_parts(checkpoint)
        return ended_count, fault
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # one failure must not stop the other members
        is_sentence = isinstance(error, errors.BookError | OSError)
        message = str(error) if is_sentence else repr(error)
        if isinstance(error, errors.DataError):  # all arms lack the same file
            return 0, message
        arm, seed = members[0]
        return 0, f"arm {arm.name!r}, seed {seed}: {message}"


def _in_processes(
    waiting: Sequence[list[Task]],
    device: str,
    workers: int,
    deadline: float,
    bar: tqdm,
    *,
    is_first: bool = True,
) -> Iterator[Outcome]:
    """Train each group in one of several worker processes; yield the outcomes.

    There is at least one group and one worker. ``deadline`` is a time of `time.time`,
    and ``bar`` shows the steps of all workers; unless ``is_first`` it has those of
    their checkpoints already. Outcomes come as groups end, in any order. If a worker is
    killed, half as many go on with the members that are left; if it was the only one,
    the outcome is a failure. A group that does not fit into what others leave of a GPU
    is trained at the end, by this process alone. OMP_NUM_THREADS and OMP_WAIT_POLICY
    stay set in this process.
    """
    context = multiprocessing.get_context("spawn")
    workers = min(workers, len(waiting))
    stop = context.Event()
    # made in this call, and saved before it; "q": whole numbers of 64 bits
    shared_steps = context.Array("q", 2)
    made_shown = saved_shown = 0
    # A process reads these when it imports torch, and gets them from its parent. They
    # stay set here, where torch is imported already.
    os.environ |= {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
    pool = ProcessPoolExecutor(workers, context, _prepare_worker, (stop, shared_steps))
    with _ignoring_interrupts():  # as workers then are from their first import on
        jobs = {
            pool.submit(_train_in_worker, group, device, deadline): group
            for group in waiting
        }
    # groups whose worker ended, or was ended since another one was
    unfinished: list[list[Task]] = []
    too_large: list[list[Task]] = []
    try:
        while jobs:
            ended, _ = wait(jobs, timeout=1, return_when=FIRST_COMPLETED)
            made, saved = shared_steps[:]
            if not is_first:
                saved = 0  # the bar has them
            _add_steps(bar, made - made_shown, saved - saved_shown)
            made_shown, saved_shown = made, saved
            for job in ended:
                group = jobs.pop(job)
                try:
                    outcome = job.result()
                except BrokenProcessPool:  # all jobs that have not ended raise it
                    unfinished.append(group)
                except torch.OutOfMemoryError:
                    too_large.append(group)
                else:
                    yield outcome
    finally:  # whatever happens, members in training save their state and stop
        stop.set()
        pool.shutdown(cancel_futures=True)
    message = "a worker process ended without a word (no memory?)"
    if unfinished and workers > 1:
        warnings.warn(f"{message}: fewer at a time go on", stacklevel=2)
        yield from _in_processes(
            unfinished, device, workers // 2, deadline, bar, is_first=False
        )
    elif unfinished:
        yield 0, f"{message}: the same command goes on from its checkpoint"
    yield from _in_this_process(too_large, device, deadline, bar)


@contextlib.contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C in the block, and for good in processes that it starts.

    Outside of the main thread nothing is ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # Python sets handlers of signals in the main thread alone
        return
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


# What a worker shares with its parent: "stop", an event, and "steps", two counts.
_SHARED: dict[str, Any] = {}


def _prepare_worker(stop: Event, shared_steps: SynchronizedArray) -> None:
    """Set up a worker process, which computes with one thread and ends with its parent.

    Ctrl-C does nothing to it: the parent sets ``stop`` when training has to stop.
    ``shared_steps`` has the steps made by all workers, and those that were saved.
    """
    _SHARED.update(stop=stop, steps=shared_steps)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    errors.warn_in_one_line()
    devices.prepare_cpu()
    project.note_code()  # now: the code may be edited while this worker trains


def _end_with_parent() -> None:
    """Wait for the end of the parent process, then end this one with all threads."""
    if parent := multiprocessing.parent_process():
        parent.join()
    os._exit(1)  # sys.exit would end this thread alone


def _train_in_worker(group: list[Task], device: str, deadline: float) -> Outcome:
    """Train a group in a worker process, to its end or until training has to stop.

    That is when the parent says so or after ``deadline``, a time of `time.time`. A
    group whose turn comes later is not begun.
    """

    def should_stop() -> bool:
        return _SHARED["stop"].is_set() or time.time() > deadline

    def count_steps(made: int, saved: int) -> None:
        steps = _SHARED["steps"]
        with steps.get_lock():
            steps[0] += made
            steps[1] += saved

    if should_stop():
        return 0, ""
    try:
        return _train_group(group, device, should_stop, count_steps)
    finally:
        if device == "cuda":
            _free_gpu()
