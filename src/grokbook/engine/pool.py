"""Who trains what, where: processes on a CPU, stacks on a GPU; nothing is lost.

What experiments lack is trained and goes into their records member by member. On a CPU
a pool of processes, one thread each, takes one member at a time; on a GPU members of
one kind are stacked in this process. Checkpoints lie in ``.checkpoints`` below the
records and vanish with success.
"""

import contextlib
import gc
import io
import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import torch

from grokbook import project, records
from grokbook.engine import device as devices
from grokbook.engine import expected, loop
from grokbook.engine.plan import Task, planned, tasks
from grokbook.engine.progress import Progress
from grokbook.errors import (
    DataError,
    Diverged,
    GrokbookError,
    TrainingError,
    Unfinished,
)
from grokbook.experiment import Arm, Experiment, Member, Result
from grokbook.names import check

_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}


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
    progress: bool | None = None,
) -> list[records.Record]:
    """Train the members that experiments still lack and return their records.

    ``device``: auto, cpu or cuda. ``matmul``: library of the CPU, by default that of
    the record, else the processor's. ``time_budget`` in seconds: after it the state is
    saved, and a later call goes on. ``processes``: CPU worker processes, one per core
    by default; 0 trains in this process. ``seeds``, ``arms``: only members with one of
    these seeds, with an arm whose name fits this pattern, or one of these. ``replace``:
    train members again that are there. Most valuable first: see ``plan``.
    ``keep_going``: a member that fails does not stop the others; what failed is told at
    the end. ``progress``: True for a bar, False for nothing; by default a bar on a
    terminal, else lines.
    RecordError or TrainingError if something stands in the way; Unfinished if the time
    was too short for any member of an experiment without a record.
    """
    on = devices.choose_device(device)
    patterns = [arms] if isinstance(arms, str) else arms
    records.commit()  # asked for before the training, which may take hours
    for arm in (arm for experiment in experiments for arm in experiment.arms):
        check(arm)
    with contextlib.ExitStack() as locks:
        for experiment in experiments:
            locks.enter_context(records.locked(experiment, out))
        todo = [
            task
            for task in tasks(experiments, out, on, matmul, replace=replace)
            if (seeds is None or task.member[1] in seeds)
            and any(fnmatchcase(task.member[0].name, one) for one in patterns)
        ]
        order = _within(planned(todo, on), time_budget)
        with _Site(out, time_budget, todo, progress, keep_going) as site:
            if on == "cuda" or processes == 0:
                _here(order, on, site)
            elif todo:
                count = processes or expected.cores()
                _in_processes(order, site, min(count, len(todo)))
        if replace and site.left:
            raise Unfinished(
                f"{site.left} of {len(todo)} members are not trained again yet: name "
                "those that are left with --arms and --seeds"
            )
    for experiment in experiments:
        if not records.path_of(experiment.name, experiment.scale, out).exists():
            raise Unfinished(
                f"{experiment.name}: no member finished within the time budget; run "
                "the same command again to go on from the checkpoints"
            )
    return [records.load(experiment, out) for experiment in experiments]


def _within(
    priced: list[tuple[list[Task], float]], time_budget: float | None
) -> list[list[Task]]:
    """Groups in their order; what would take more than the whole budget comes last."""
    short = [g for g, seconds in priced if not time_budget or seconds <= time_budget]
    return short + [group for group, _ in priced if group not in short]


class _Site:
    """Where a run keeps its states, puts its results and shows its progress."""

    def __init__(
        self,
        out: Path | None,
        time_budget: float | None,
        todo: list[Task],
        progress: bool | None,
        keep_going: bool,
    ):
        self.out, self.keep_going = out, keep_going
        self.failed: list[str] = []
        self.left, self.recorded = len(todo), 0
        self.deadline = None if time_budget is None else time.time() + time_budget
        self.folder = (out or project.records_folder()) / ".checkpoints"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.tasks = {task.name: task for task in todo}
        self.progress = Progress(todo, progress)

    def __enter__(self) -> "_Site":
        return self

    def __exit__(self, kind: type | None, *error: object) -> None:
        self.progress.close()
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
        return self.deadline is not None and time.time() > self.deadline

    def show(self, tasks: Sequence[Task], epoch: int) -> None:
        """Tell that members have come to an epoch."""
        for task in tasks:
            self.progress.reach(task, epoch)

    def finish(self, tasks: list[Task], results: Sequence[Result]) -> None:
        """Put results into the records of their experiments, then forget the state."""
        mine: dict[str, tuple[Experiment, list[Result]]] = {}
        for task, result in zip(tasks, results, strict=True):
            self.progress.reach(task, int(result.rows[-1]["epoch"]), done=True)
            for experiment in task.experiments:
                some = mine.setdefault(experiment.name, (experiment, []))[1]
                some.append(result)
        for experiment, some in mine.values():
            records.add(experiment, some, self.out)
        self.left, self.recorded = self.left - len(tasks), self.recorded + len(tasks)
        self.checkpoint(tasks).unlink(missing_ok=True)


def _here(order: list[list[Task]], on: str, site: _Site) -> None:
    waiting = list(order)
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
            _forget(on)


def _forget(on: str) -> None:
    """Free what a group held: a learner and its graphs refer to each other."""
    gc.collect()
    if on == "cuda":
        torch.cuda.empty_cache()


def _told_of(member: Member, error: Exception) -> TrainingError:
    """An error that nobody foresaw, in one sentence that says whose it is."""
    arm, seed = member
    reason = str(error).partition("\n")[0]
    kind = "" if isinstance(error, GrokbookError) else f"{type(error).__name__}: "
    who = f"arm {arm.name!r}, seed {seed}"
    if who in reason or isinstance(error, DataError):  # a file lacks for all alike
        return TrainingError(reason)
    return TrainingError(f"{who}: {kind}{reason}")


def _train_group(tasks: list[Task], on: str, site: _Site) -> bool:
    """Train a group in this process and record it; False if the time was up."""
    checkpoint = site.checkpoint(tasks)
    try:
        results = loop.train(
            [task.member for task in tasks],
            on=on,
            matmul=tasks[0].matmul,
            stacked=on == "cuda",
            checkpoint=checkpoint,
            should_stop=site.time_is_up,
            report=lambda epoch: site.show(tasks, epoch),
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


# Processes ---------------------------------------------------------------------------


def _in_processes(order: list[list[Task]], site: _Site, count: int) -> None:
    """One member at a time in each of a few processes; the first failure stops all."""
    context = multiprocessing.get_context("spawn")
    stop, told = context.Event(), context.SimpleQueue()
    with _environment(_ONE_THREAD), _listening(told, site):
        pool = ProcessPoolExecutor(count, context, _prepare, (stop, told))
        with pool:
            jobs = {
                pool.submit(_work, _order(task, site), site.deadline): task
                for (task,) in order
            }
            try:
                for job in as_completed(jobs):
                    try:
                        packed = job.result()
                    except (TrainingError, DataError) as error:
                        site.failing(error)
                        continue
                    if packed:
                        site.finish([jobs[job]], [_unpacked(packed, jobs[job])])
            except BrokenProcessPool as error:
                raise TrainingError(
                    "a worker process ended without a word (out of memory?): run the "
                    "same command again to go on from its checkpoint"
                ) from error
            finally:  # whatever happened, running members save their state and stop
                stop.set()
                pool.shutdown(cancel_futures=True)


@contextlib.contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Variables that a process reads when it imports torch."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _listening(told: Any, site: _Site) -> Iterator[None]:
    """Show what workers tell of their progress while the block runs."""

    def listen() -> None:
        while (word := told.get()) is not None:
            name, epoch = word
            site.show([site.tasks[name]], epoch)

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    try:
        yield
    finally:
        told.put(None)
        thread.join()


def _order(task: Task, site: _Site) -> dict[str, Any]:
    arm, seed = task.member
    order = {"arm": arm.to_json(), "seed": seed, "matmul": task.matmul}
    return order | {"checkpoint": str(site.checkpoint([task]))}


_stop: Any = None
_told: Any = None


def _prepare(stop: Any, told: Any) -> None:
    """Set up a worker process: one thread, and an end with its parent's."""
    global _stop, _told
    _stop, _told = stop, told
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent tells when to stop
    warnings.showwarning = _tell  # type: ignore[assignment]
    devices.prepare_cpu()
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _tell(message: Warning | str, *_: Any) -> None:
    """A warning as one line, as the command prints it."""
    print(f"grokbook: warning: {message}", file=sys.stderr)


def _work(order: dict[str, Any], deadline: float | None) -> bytes | None:
    """In a worker: one member to its end, or None where training has to stop."""
    checkpoint, last = Path(order["checkpoint"]), 0.0

    def should_stop() -> bool:
        return _stop.is_set() or (deadline is not None and time.time() > deadline)

    def report(epoch: int) -> None:
        nonlocal last
        if time.monotonic() - last > 0.5:
            last = time.monotonic()
            _told.put((checkpoint.name, epoch))

    if should_stop():
        return None
    member = Arm.from_json(order["arm"]), order["seed"]
    try:
        results = loop.train(
            [member],
            matmul=order["matmul"],
            checkpoint=checkpoint,
            should_stop=should_stop,
            report=report,
        )
    except Exception as error:  # told in one sentence, whatever else it carries
        raise _told_of(member, error) from None
    return _packed(results[0]) if results else None


def _packed(result: Result) -> bytes:
    """A result as bytes: tensors sent as such would share memory with the worker."""
    content = {k: v for k, v in vars(result).items() if k not in ("arm", "seed")}
    buffer = io.BytesIO()
    torch.save(content, buffer)
    return buffer.getvalue()


def _unpacked(packed: bytes, task: Task) -> Result:
    content: dict[str, Any] = torch.load(io.BytesIO(packed), weights_only=True)
    return Result(*task.member, **content)
