"""Running an experiment: what is missing is trained, recorded and nothing is lost.

On a CPU a few worker processes (``python -m grokbook.workers``), one thread each, take
one member at a time; on a GPU members of one kind are stacked in this process. A
finished member goes into the record at once. Checkpoints lie in ``.checkpoints`` below
the records folder and vanish with success.
"""

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import torch

from grokbook import kernels, minibatch, records, training
from grokbook.datasets import DataError
from grokbook.experiment import Arm, Experiment, resolve
from grokbook.training import Member, Outcome, TrainingError

STACK_LIMIT = 128  # members of one kind that share a GPU at a time
# Two threads that spin while they wait for each other cost a factor 17 under load.
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}


def run(experiment: Experiment, **options: Any) -> records.Record:
    """Train the members one experiment still lacks: ``run_all`` with one of them."""
    return run_all([experiment], **options)[0]


def run_all(
    experiments: Sequence[Experiment],
    *,
    device: str = "auto",
    out: Path | None = None,
    time_budget: float | None = None,
    processes: int | None = None,
    seeds: Collection[int] | None = None,
    arms: str = "*",
    progress: bool | None = None,
) -> list[records.Record]:
    """Train the members that experiments still lack and return their records.

    ``time_budget`` in seconds: after it the state is saved, and a later call goes on.
    ``processes``: CPU worker processes, one per core by default; 0 trains in this
    process. ``seeds``, ``arms``: only members with one of these seeds, with an arm
    whose name fits this pattern. ``progress``: a bar on the terminal, by default only
    if there is one.
    RecordError or TrainingError if something stands in the way; Unfinished if the
    time was too short for any member of an experiment without a record.
    """
    device = training.choose_device(device)
    records.commit()  # asked for before the training, which may take hours
    with contextlib.ExitStack() as locks:
        for experiment in experiments:
            locks.enter_context(_locked(experiment, out))
        todo = [
            task
            for task in _tasks(experiments, out)
            if (seeds is None or task.member[1] in seeds)
            and fnmatchcase(task.member[0].name, arms)
        ]
        _run(todo, device, out, time_budget, processes, progress)
    for experiment in experiments:
        if not records.path_of(experiment.name, experiment.scale, out).exists():
            raise training.Unfinished(
                f"{experiment.name}: no member finished within the time budget; run "
                "the same command again to go on from the checkpoints"
            )
    return [records.load(experiment, out) for experiment in experiments]


@contextlib.contextmanager
def _locked(experiment: Experiment, out: Path | None) -> Iterator[None]:
    """Keep a second run of the same experiment out; the lock dies with its holder."""
    name = f"{experiment.name.replace('/', '-')}.{experiment.scale}.lock"
    path = (out or records.root()) / ".locks" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # not a POSIX system: nothing to lock with
            pass
        except BlockingIOError as error:
            raise TrainingError(
                f"another run is training {experiment.name} at {experiment.scale} "
                "scale: wait until it ends, or give another folder with --out"
            ) from error
        yield


def _checkpoints(out: Path | None) -> Path:
    return (out or records.root()) / ".checkpoints"


def _run(todo, device, out, time_budget, processes, progress) -> None:
    place = _Place(
        out,
        None if time_budget is None else time.monotonic() + time_budget,
        _Bar([task.member for task in todo], enabled=progress),
    )
    try:
        if device == "cuda":
            _run_stacked(todo, device, place)
        elif processes == 0:
            _run_here(todo, place)
        elif todo:
            _Pool(todo, place).run(min(processes or _cores(), len(todo)))
    finally:
        place.bar.close()


@dataclass
class _Task:
    """A member and the experiments whose records it belongs to, mostly one."""

    member: Member
    experiments: list[Experiment]


def _tasks(experiments: Sequence[Experiment], out: Path | None) -> list[_Task]:
    """What is missing; a member that two experiments share is trained once."""
    found: dict[str, _Task] = {}
    for experiment in experiments:
        for member in records.missing(experiment, out):
            (name,) = training.identity([member])
            found.setdefault(name, _Task(member, [])).experiments.append(experiment)
    return list(found.values())


class _Place:
    """Where a run leaves its results, until when, and how it shows progress."""

    def __init__(self, out: Path | None, deadline: float | None, bar: "_Bar"):
        self.out, self.deadline, self.bar = out, deadline, bar
        self.folder = _checkpoints(out)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.lock = threading.Lock()

    def checkpoint(self, members: list[Member]) -> Path:
        first = training.identity(members)[0]
        many = "" if len(members) == 1 else f"-x{len(members)}"
        return self.folder / (first + many)

    def time_left(self) -> float | None:
        return None if self.deadline is None else self.deadline - time.monotonic()

    def time_is_up(self) -> bool:
        return self.deadline is not None and time.monotonic() > self.deadline

    def finish(self, tasks: list[_Task], outcomes: list[Outcome]) -> None:
        """Put outcomes into the records of their experiments, then forget the state."""
        with self.lock:
            mine: dict[str, tuple[Experiment, list[Outcome]]] = {}
            for task, outcome in zip(tasks, outcomes, strict=True):
                for experiment in task.experiments:
                    mine.setdefault(experiment.name, (experiment, []))[1].append(
                        outcome
                    )
            for experiment, some in mine.values():
                records.add(experiment, some, self.out)
            checkpoint = self.checkpoint([task.member for task in tasks])
            self.bar.done(checkpoint.name, sum(t.member[0].epochs for t in tasks))
        checkpoint.unlink(missing_ok=True)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _run_here(todo: list[_Task], place: _Place) -> None:
    for task in todo:
        if not _train_group([task], "cpu", place, stacked=False):
            return


def _run_stacked(todo: list[_Task], device: str, place: _Place) -> None:
    kernels.set_backend("torch")  # stacked products go to the GPU library
    groups: dict[str, list[_Task]] = {}
    for task in todo:
        groups.setdefault(training.kind(task.member[0]), []).append(task)
    for group in groups.values():
        alone = group[0].member[0].eval_batch is not None
        size = 1 if alone else STACK_LIMIT
        for first in range(0, len(group), size):
            tasks = group[first : first + size]
            if not _train_group(tasks, device, place, stacked=not alone):
                return


def _train_group(
    tasks: list[_Task], device: str, place: _Place, *, stacked: bool
) -> bool:
    members = [task.member for task in tasks]
    checkpoint = place.checkpoint(members)
    try:
        outcomes = training.train(
            members,
            device=device,
            stacked=stacked,
            checkpoint=checkpoint,
            should_stop=place.time_is_up,
            report=lambda epoch: place.bar.show(checkpoint.name, epoch * len(members)),
        )
    except training.Diverged as error:
        pairs = zip(tasks, error.outcomes, strict=True)
        if finished := [(task, outcome) for task, outcome in pairs if outcome]:
            place.finish(*map(list, zip(*finished, strict=True)))
            checkpoint.unlink(missing_ok=True)  # of a stack that is whole no more
        raise
    if outcomes is not None:
        place.finish(tasks, outcomes)
    return outcomes is not None


class _Pool:
    """Worker processes that take members from one queue; a failure stops the rest."""

    def __init__(self, todo: list[_Task], place: _Place):
        self.tasks: queue.SimpleQueue[_Task] = queue.SimpleQueue()
        for task in todo:
            self.tasks.put(task)
        self.place = place
        self.error: Exception | None = None
        self.processes: list[subprocess.Popen] = []

    def run(self, count: int) -> None:
        threads = [
            threading.Thread(target=self._serve, daemon=True) for _ in range(count)
        ]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except KeyboardInterrupt:
            for process in self.processes:
                process.kill()
            raise
        if self.error is not None:
            raise self.error

    def _serve(self) -> None:
        path = os.pathsep.join(
            [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        )
        process = subprocess.Popen(
            [sys.executable, "-m", "grokbook.workers"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | _ONE_THREAD | {"PYTHONPATH": path.rstrip(os.pathsep)},
        )
        self.processes.append(process)
        try:
            while self.error is None:
                try:
                    task = self.tasks.get_nowait()
                except queue.Empty:
                    break
                if not self._one(process, task):
                    break
        except Exception as error:  # handed to the main thread by run()
            self.error = error
        finally:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
            process.wait()
            process.stdout.close()

    def _one(self, process: subprocess.Popen, task: _Task) -> bool:
        checkpoint = self.place.checkpoint([task.member])
        result = _result(checkpoint)
        if not result.exists():
            arm, seed = task.member
            order = {"arm": arm.to_json(), "seed": seed, "checkpoint": str(checkpoint)}
            order["time_left"] = self.place.time_left()
            with contextlib.suppress(BrokenPipeError):  # _listen says that it died
                process.stdin.write(json.dumps(order) + "\n")
                process.stdin.flush()
            answer = self._listen(process, checkpoint.name)
            if answer["state"] == "unfinished":
                return False
            if answer["state"] == "failed":
                raise TrainingError(answer["why"])
        self.place.finish([task], [_read_outcome(result, task.member)])
        result.unlink()
        return True

    def _listen(self, process: subprocess.Popen, name: str) -> dict[str, Any]:
        for line in process.stdout:
            answer = json.loads(line)
            if "epoch" not in answer:
                return answer
            self.place.bar.show(name, answer["epoch"])
        raise TrainingError(
            f"a worker process ended without a word (exit {process.wait()}; out of "
            "memory?): run the same command again to go on from its checkpoint"
        )


def _result(checkpoint: Path) -> Path:
    """Where a worker leaves a finished member until it is in the record."""
    return checkpoint.with_name(checkpoint.name + ".done")


def _read_outcome(path: Path, member: Member) -> Outcome:
    try:
        saved = torch.load(path, weights_only=True)
        return Outcome(*member, **saved)
    except Exception as error:  # a damaged zip raises half a dozen types
        raise TrainingError(f"{path} is damaged: delete it and run again") from error


class _Bar:
    """Progress of a run on a terminal; silent in notebooks and logs."""

    def __init__(self, members: list[Member], enabled: bool | None):
        self.enabled = sys.stderr.isatty() if enabled is None else enabled
        self.total = sum(arm.epochs for arm, _ in members)
        self.members, self.finished_members = len(members), 0
        self.running: dict[str, int] = {}
        self.first: dict[str, int] = {}
        self.settled, self.began, self.last = 0, time.monotonic(), 0.0

    def show(self, member: str, epoch: int) -> None:
        self.first.setdefault(member, epoch)
        self.running[member] = epoch
        now = time.monotonic()
        if not self.enabled or now - self.last < 0.5:
            return
        self.last = now
        done = self.settled + sum(self.running.values())
        here = done - sum(self.first.values())
        rate = max(here, 0) / (now - self.began)
        left = (self.total - done) / rate if rate else float("inf")
        share = done / max(self.total, 1)
        blocks = "#" * int(20 * share)
        clock = (
            "--:--" if left == float("inf") else f"{left // 60:.0f}:{left % 60:02.0f}"
        )
        sys.stderr.write(
            f"\r[{blocks:20}] {self.finished_members}/{self.members} "
            f"members, {rate:.0f} epochs/s, {clock} left "
        )
        sys.stderr.flush()

    def done(self, member: str, epochs: int) -> None:
        self.running.pop(member, None)
        self.settled += epochs
        self.finished_members += 1

    def close(self) -> None:
        if self.enabled and self.members:
            sys.stderr.write("\n")


def matmul_rate(device: str) -> float:
    """Measured float32 rate of a 5107 x 200 x 200 product, in FLOP per second."""
    if device == "cpu":
        kernels.prepare_cpu()
    x = torch.randn(5107, 200, device=device)
    weight = torch.randn(200, 200, device=device)

    def product() -> None:
        kernels.linear(x, weight)
        if device == "cuda":
            torch.cuda.synchronize()

    product()
    clock = time.perf_counter if device == "cuda" else time.thread_time
    return 2 * 5107 * 200 * 200 / kernels.best_time(product, clock)


def expected_seconds(experiment: Experiment, device: str, rate: float) -> float:
    """Rough training time of all members: three passes over every weight and row.

    The rate of a large product is reached to about 60 % on a CPU, whose cores share
    the members; arms whose weights are float64 count double.
    """
    flop = 0.0
    for arm in experiment.arms:
        if arm.eval_batch is not None:
            flop += minibatch.training_flop(arm)
            continue
        model = resolve("model", arm.model)(**arm.model.options)
        first, *rest = [p.numel() for p in model.parameters() if p.ndim == 2]
        is_tokens = "vocabulary" in arm.model.options
        weights = sum(rest) + (0 if is_tokens else first)
        factor = 2 if arm.dtype == "float64" else 1
        flop += 6 * _rows(arm) * weights * arm.epochs * factor
    flop *= len(experiment.seeds)
    return flop / (0.6 * rate * (os.cpu_count() or 1 if device == "cpu" else 1))


def _rows(arm: Arm) -> int:
    """Training rows of an arm; real data are not fetched to count them."""
    published = {"mnist": 60_000, "cifar10": 50_000}
    if arm.dataset.name in published:
        return arm.dataset.options.get("train_samples", published[arm.dataset.name])
    return len(resolve("dataset", arm.dataset)(**arm.dataset.options).y_train)


def _say(**answer: Any) -> None:
    print(json.dumps(answer), flush=True)


def _work(task: dict[str, Any]) -> None:
    """Train one member and leave its outcome beside the checkpoint."""
    arm, checkpoint = Arm.from_json(task["arm"]), Path(task["checkpoint"])
    began = last = time.monotonic()

    def should_stop() -> bool:
        left = task["time_left"]
        return left is not None and time.monotonic() - began > left

    def report(epoch: int) -> None:
        nonlocal last
        if time.monotonic() - last > 0.5:
            last = time.monotonic()
            _say(epoch=epoch)  # fails, and ends this process, when nobody listens

    outcomes = training.train(
        [(arm, task["seed"])],
        checkpoint=checkpoint,
        should_stop=should_stop,
        report=report,
    )
    if outcomes is None:
        return _say(state="unfinished")
    (outcome,) = outcomes
    content = {k: v for k, v in vars(outcome).items() if k not in ("arm", "seed")}
    training.save(content, _result(checkpoint))
    _say(state="finished")


def main(read: Callable[[], str] = sys.stdin.readline) -> None:
    """Serve tasks, one JSON object a line, until the input ends."""
    kernels.prepare_cpu()
    while line := read():
        try:
            _work(json.loads(line))
        except (TrainingError, DataError) as error:
            _say(state="failed", why=str(error))
        except Exception as error:  # told in one sentence by the parent
            reason = str(error).partition("\n")[0]
            _say(state="failed", why=f"{type(error).__name__}: {reason}")


if __name__ == "__main__":
    try:
        main()
    except (BrokenPipeError, KeyboardInterrupt):  # nobody waits for the result
        os._exit(1)
