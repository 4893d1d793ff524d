"""The loop: members of one kind from their start, or a checkpoint, to their end.

What a member leaves depends on nothing that its neighbours in a stack did.
"""

import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.utils._pytree import tree_map

from claimbook import project
from claimbook.engine import device, state
from claimbook.engine.build import Params
from claimbook.engine.learner import Learner
from claimbook.errors import Diverged
from claimbook.experiment import Member, Result
from claimbook.protocol import switched

CHECKPOINT_SECONDS = 60.0
SAVED = ("rows", "kept", "trace")  # of a run, in its checkpoint
PATIENCE = 20  # steps between questions whether to stop, save or report


def train(
    members: Sequence[Member],
    *,
    on: str = "cpu",
    stacked: bool = False,
    checkpoint: Path | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    report: Callable[[int], None] = lambda _: None,
) -> list[Result] | None:
    """Train members of one kind to the end and return their results, in order.

    ``on``: "cpu" or "cuda". The state is saved in ``checkpoint`` now and then, and
    training resumes from it bit for bit. When ``should_stop()`` turns true it is saved
    and the result is None. Diverged if a loss becomes NaN: where no other member is
    left, else at the end, with the results of the others.
    """
    generator = torch.random.get_rng_state()
    try:
        if on == "cuda":
            device.prepare_gpu()
        with switched(onednn=device.library(on) == "onednn"):
            run = _Run(list(members), on, stacked, checkpoint)
            return run.results() if run.to_the_end(should_stop, report) else None
    finally:
        torch.random.set_rng_state(generator)


def identity(members: Sequence[Member], on: str = "cpu") -> dict[str, Any]:
    """What a checkpoint must say to be theirs.

    Other code trains otherwise, and another library rounds otherwise: of a member that
    is recorded, all was trained and measured by the source that its record names.
    """
    return {
        "source": project.source(),
        "members": [f"{arm.hash()}-{seed}" for arm, seed in members],
        "matmul": device.library(on),
        "torch": torch.__version__,
    }


class _Run:
    """``rows`` of a member end at its ``stop`` or NaN; before, it is ``running``."""

    def __init__(self, members: list[Member], on, stacked, checkpoint: Path | None):
        self.members, self.arm, self.on = members, members[0][0], on
        self.checkpoint, self.stacked = checkpoint, stacked
        self.logged, self.rare = self.arm.logged_epochs(), self.arm.rare_epochs()
        self.identity = identity(members, on)  # of now: the code may be edited later
        self.start()
        if checkpoint and checkpoint.exists():
            self.learner.step()  # now its state has the parts of any later one
            if not state.read(checkpoint, self.identity, on, self.restore):
                self.start()  # a part of it may be restored

    def start(self) -> None:
        members = self.members
        self.began = self.last_saved = time.monotonic()
        self.learner = Learner(members, self.on, stacked=self.stacked)
        self.rows: list[list[dict[str, float]]] = [[] for _ in members]
        self.kept: dict[int, Params] = {}  # by epoch, with a member axis in any case
        size = self.arm.epochs if self.arm.trace else 0, len(members)
        self.trace = torch.zeros(size, dtype=torch.float64, device=self.on)
        self.running = [*range(len(members))]

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on from a state; an error of any kind where it cannot be one of ours."""
        mine = self.learner.state(), self.trace, self.weights()
        self.rows, self.kept, self.trace = (saved[part] for part in SAVED)
        self.compare_forms(saved["learner"], *mine)
        self.compare_rows(saved["learner"]["step"])
        if not 0 <= saved["seconds"] < math.inf:
            raise state.Unfit("is damaged: its seconds are no time")
        self.learner.restore(saved["learner"])
        self.began -= saved["seconds"]

    def compare_forms(self, theirs: Params, mine: Params, trace, weights) -> None:
        """Unfit where shapes or dtypes of what was restored are not as at the start."""
        for kept in (weights, *self.kept.values()):
            their_forms = tree_map(_form, [theirs, self.trace, kept])
            if their_forms != tree_map(_form, [mine, trace, weights]):
                raise state.Unfit("is damaged: its tensors are of other shapes")

    def compare_rows(self, step: int) -> None:
        """Unfit where rows or weights are not those until a step; finds who is running.

        Columns come before epochs, as it takes columns to know whom a NaN ended.
        """
        damaged = "is damaged: its {} are not those of the epochs that were logged"
        if not {epoch for epoch in self.arm.keep if epoch <= step} <= self.kept.keys():
            raise state.Unfit(damaged.format("weights"))
        if len(self.rows) != len(self.members):
            raise state.Unfit(damaged.format("rows"))
        for rows in self.rows:
            if not all(rows[0].keys() <= row.keys() for row in rows):
                raise state.Unfit(damaged.format("columns"))
            if not {type(v) for row in rows for v in row.values()} <= {int, float}:
                raise state.Unfit("is damaged: its rows hold what is no number")
        self.running = self.still_running()
        due = [epoch for epoch in self.logged if epoch <= step <= self.arm.epochs]
        for k, rows in enumerate(self.rows):
            come = due if k in self.running else due[: len(rows)]
            if [row["epoch"] for row in rows] != come:
                raise state.Unfit(damaged.format("rows"))

    def to_the_end(self, should_stop: Callable, report: Callable) -> bool:
        """Whether it came there, and was not stopped before."""
        learner, arm, logged = self.learner, self.arm, {*self.logged}
        if not self.rows[0]:
            self.measure(None)
        while learner.step_count < arm.epochs and self.running:
            is_logged = learner.step_count + 1 in logged
            before = learner.weights() if is_logged else None
            loss = learner.step()
            if arm.trace:
                self.trace[learner.step_count - 1] = loss
            if is_logged:
                self.measure(before)
            elif learner.step_count in arm.keep:
                self.keep()
            if learner.step_count % PATIENCE and not is_logged:
                continue
            report(learner.step_count)
            if self.checkpoint:
                is_asked = should_stop()
                late = time.monotonic() - self.last_saved > CHECKPOINT_SECONDS
                if is_asked or late:
                    self.save(self.checkpoint)
                if is_asked:
                    return False
        if self.checkpoint and self.seconds() > 1:
            self.save(self.checkpoint)  # if no record is written, nothing is lost
        return True

    def measure(self, before: Params | None) -> None:
        """See and keep what is asked of now; who comes to ``stop``, as at its end."""
        arm, epoch = self.arm, self.learner.step_count
        rarely = arm.rarely[1] if arm.rarely else ()
        is_rare = epoch in self.rare
        for k in self.running:
            self.rows[k].append({"epoch": epoch})
        self.record_observables(
            {*arm.observables, *(rarely if is_rare else ())}, self.running, before
        )
        running = self.still_running()
        come = [
            k for k in self.running if k not in running and not self.has_diverged(k)
        ]
        if come and not is_rare:
            self.record_observables(rarely, come, before)
        if epoch in arm.keep or (come and arm.epochs in arm.keep):
            self.keep()
        self.running = running

    def still_running(self) -> list[int]:
        """Members that neither are done by ``stop`` nor came to a NaN."""
        every = range(len(self.rows))
        return [k for k in every if not (self.has_stopped(k) or self.has_diverged(k))]

    def has_stopped(self, k: int) -> bool:
        """Whether a member came to ``stop`` at least ``after_stop`` epochs ago."""
        if self.arm.stop is None:
            return False
        now = self.rows[k][-1]["epoch"]
        for row in self.rows[k]:
            if row["test_accuracy"] >= self.arm.stop:
                return now - row["epoch"] >= self.arm.after_stop
        return False

    def record_observables(
        self, names: Any, members: list[int], before: Params | None
    ) -> None:
        """Put observables of now into the last rows of some members."""
        if values := self.learner.observe(names, before):
            columns = [value.reshape(-1).double() for value in values.values()]
            every = torch.stack(columns, 1).tolist()  # at once: a GPU is waited for
            for k in members:
                self.rows[k][-1] |= zip(values, every[k], strict=True)

    def has_diverged(self, k: int) -> bool:
        """Whether a NaN has ended a member."""
        return math.isnan(self.rows[k][-1]["train_loss"]) and not self.arm.through_nan

    def keep(self) -> None:
        """The weights of now, for the record."""
        self.kept[self.learner.step_count] = self.weights()

    def weights(self) -> Params:
        found = self.learner.weights()
        return {n: (w if self.stacked else w[None]).cpu() for n, w in found.items()}

    def seconds(self) -> float:
        return time.monotonic() - self.began

    def save(self, checkpoint: Path) -> None:
        content = {"learner": self.learner.state(), "seconds": self.seconds()}
        content |= {part: getattr(self, part) for part in SAVED}
        state.write(checkpoint, self.identity, content)
        self.last_saved = time.monotonic()

    def results(self) -> list[Result]:
        """What every member leaves; Diverged, with the others', if one did."""
        many = range(len(self.members))
        info = device.describe(self.on) | {"members_together": len(many)}
        share = self.seconds() / len(many)
        lost = [k for k in many if self.has_diverged(k)]
        found = [None if k in lost else self.result(k, share, info) for k in many]
        if lost:
            theirs = (self.members[k] for k in lost)
            who = "; ".join(f"arm {arm.name!r}, seed {seed}" for arm, seed in theirs)
            when = min(self.rows[k][-1]["epoch"] for k in lost)
            told = f"{who}: the training loss became NaN by epoch {when}: lower the "
            raise Diverged(f"{told}learning rate or use a wider dtype", found)
        return [result for result in found if result]

    def result(self, k: int, seconds: float, info: dict[str, Any]) -> Result:
        (arm, seed), rows = self.members[k], self.rows[k]
        last = int(rows[-1]["epoch"])
        wanted = {epoch for epoch in arm.keep if epoch <= last}
        wanted |= {last} if arm.epochs in arm.keep else set()
        is_kept = arm.keep_seeds is None or seed in arm.keep_seeds
        dtype = getattr(torch, arm.keep_dtype or arm.dtype)
        kept = {
            epoch: {name: w[k].to(dtype) for name, w in weights.items()}
            for epoch, weights in self.kept.items()
            if is_kept and epoch in wanted
        }
        trace = self.trace[:last, k].tolist() if arm.trace else None
        return Result(arm, seed, rows, kept, seconds, info, trace)


def _form(leaf: Any) -> Any:
    """What two states must have alike."""
    return (leaf.shape, leaf.dtype) if hasattr(leaf, "shape") else type(leaf)
