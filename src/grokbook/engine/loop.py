"""The loop: members of one kind from their start, or a checkpoint, to their end.

It steps, looks at the logged epochs, keeps what an arm asks for, and saves its state
now and then. What a member leaves depends on nothing that its neighbours in a stack
did: a loss that becomes NaN takes no other member with it.
"""

import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from grokbook.engine import build, device, state
from grokbook.errors import Diverged
from grokbook.experiment import Member, Result
from grokbook.names import check

CHECKPOINT_SECONDS = 60.0
PATIENCE = 20  # steps between questions whether to stop, save or report

Params = dict[str, Tensor]


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

    ``on``: "cpu" or "cuda". With ``checkpoint`` the state is saved there now and then,
    and training resumes from it bit for bit; where a file there is not theirs it is
    kept aside. When ``should_stop()`` turns true the state is saved and the result is
    None. Diverged if a loss becomes NaN: at once where no other member is left, else at
    the end, with the results of the others. ValueError if an arm names what does not
    exist.
    """
    for arm, _ in members:
        check(arm)
    generator = torch.random.get_rng_state()
    try:
        with device.as_asked(on):
            run = _Run(list(members), on, stacked, checkpoint)
            return run.to_the_end(should_stop, report)
    finally:
        torch.random.set_rng_state(generator)


def identity(members: Sequence[Member], on: str = "cpu") -> dict[str, Any]:
    """What a checkpoint must say to be these members' own.

    Another library, or release of PyTorch, rounds otherwise, and a member has one.
    """
    return {
        "members": [f"{arm.hash()}-{seed}" for arm, seed in members],
        "matmul": device.library(on),
        "torch": torch.__version__,
    }


class Series:
    """What is seen of all members; it stays on the device until somebody needs it."""

    def __init__(self, members: list[Member]):
        self.members, self.arm = members, members[0][0]
        self.rows: list[dict[str, Any]] = []  # by column, the values of all members
        self.trace: list[list[float]] = []  # by step, the loss of every member
        self.kept: dict[int, Params] = {}
        self.nan_since: dict[int, int] = {}  # member -> epoch at which its loss was NaN
        self._waiting: list[tuple[int, Params]] = []
        self._losses: list[Tensor] = []

    @property
    def diverged(self) -> dict[int, int]:
        """Members that a NaN has ended, and when."""
        return {} if self.arm.through_nan else self.nan_since

    def note(self, loss: Tensor) -> None:
        """Keep the loss of a step where the arm wants it."""
        if self.arm.trace:
            self._losses.append(loss.reshape(-1).clone())

    def add(self, epoch: int, values: Params) -> None:
        self._waiting.append((epoch, values))
        if next(iter(values.values())).device.type == "cpu":
            self.settle()

    def settle(self) -> None:
        """Bring waiting values to the CPU; Diverged if all training losses are NaN."""
        if self._losses:
            self.trace += torch.stack(self._losses).double().tolist()
            self._losses = []
        for epoch, values in self._waiting:
            self.rows.append({"epoch": epoch} | _lists(values))
            self._look_for_nan(self.rows[-1])
        self._waiting = []
        if len(self.diverged) == len(self.members):
            raise self._error([None] * len(self.members))

    def _look_for_nan(self, row: dict[str, Any]) -> None:
        for k, loss in enumerate(row.get("train_loss", ())):
            if math.isnan(loss):
                self.nan_since.setdefault(k, row["epoch"])

    def _error(self, results: list[Result | None]) -> Diverged:
        lost = [self.members[k] for k in self.diverged]
        who = "; ".join(f"arm {arm.name!r}, seed {seed}" for arm, seed in lost)
        return Diverged(
            f"{who}: the training loss became NaN by epoch "
            f"{min(self.diverged.values())}; lower the learning rate or use a wider "
            "dtype (members that finished are recorded)",
            results,
        )

    def ended(self) -> tuple[list[int], bool]:
        """Who reached ``stop`` at the last look and not before; whether all have."""
        if self.arm.stop is None:
            return [], False
        self.settle()
        many, stop = range(len(self.members)), self.arm.stop
        seen = [[row["test_accuracy"][k] >= stop for row in self.rows] for k in many]
        new = [k for k in many if seen[k][-1] and not any(seen[k][:-1])]
        return new, all(any(seen[k]) for k in many if k not in self.diverged)

    def extend(self, members: list[int], values: Params) -> None:
        """More values of some members at the last look."""
        self.rows[-1] |= {"of": members, "more": _lists(values)}

    def state(self) -> dict[str, Any]:
        self.settle()
        return {"rows": self.rows, "kept": self.kept, "trace": self.trace}

    def restore(self, saved: dict[str, Any]) -> None:
        self.rows, self.kept, self.trace = saved["rows"], saved["kept"], saved["trace"]
        for row in self.rows:
            self._look_for_nan(row)

    def results(self, seconds: float, info: dict[str, Any]) -> list[Result]:
        """What every member leaves; Diverged, with the others', if one did."""
        self.settle()
        many = range(len(self.members))
        info = info | {"members_together": len(many)}
        share = seconds / len(many)
        found = [
            None if k in self.diverged else self._result(k, share, info) for k in many
        ]
        if self.diverged:
            raise self._error(found)
        return [result for result in found if result]

    def _result(self, k: int, seconds: float, info: dict[str, Any]) -> Result:
        arm, seed = self.members[k]
        rows = []
        for row in self.rows:
            values = {n: v for n, v in row.items() if n not in ("epoch", "of", "more")}
            if k in row.get("of", ()):
                values |= row["more"]
            rows.append({"epoch": row["epoch"]} | {n: v[k] for n, v in values.items()})
            if arm.stop is not None and rows[-1]["test_accuracy"] >= arm.stop:
                break
        if k in self.nan_since:
            info = info | {"nan_since": self.nan_since[k]}
        last = rows[-1]["epoch"]
        trace = [step[k] for step in self.trace[:last]] if arm.trace else None
        return Result(arm, seed, rows, self._kept(k, last), seconds, info, trace)

    def _kept(self, k: int, last: int) -> dict[int, Params]:
        """Weights of the epochs that the arm asks for, its own end for its last one."""
        arm, seed = self.members[k]
        if arm.keep_seeds is not None and seed not in arm.keep_seeds:
            return {}
        wanted = {epoch for epoch in arm.keep if epoch <= last}
        if arm.epochs in arm.keep:
            wanted.add(last)
        dtype = getattr(torch, arm.keep_dtype or arm.dtype)
        return {
            epoch: {name: w[k].to(dtype) for name, w in weights.items()}
            for epoch, weights in self.kept.items()
            if epoch in wanted
        }


class _Run:
    """One training from where it is to its end."""

    def __init__(
        self, members: list[Member], on: str, stacked: bool, checkpoint: Path | None
    ):
        self.arm, self.checkpoint, self.stacked = members[0][0], checkpoint, stacked
        self.logged, self.rare = {*self.arm.logged_epochs()}, self.arm.rare_epochs()
        self.identity, self.info = identity(members, on), device.describe(on)
        self.began = self.last_saved = time.monotonic()
        self.spent = 0.0
        self.learner = build.learner(members, on, stacked=stacked)
        self.series = Series(members)
        if checkpoint and (saved := state.read(checkpoint, self.identity, on)):
            self.learner.restore(saved["learner"])
            self.series.restore(saved["series"])
            self.spent = saved["seconds"]

    def to_the_end(
        self, should_stop: Callable[[], bool], report: Callable[[int], None]
    ) -> list[Result] | None:
        learner, series = self.learner, self.series
        if learner.step_count == 0 and not series.rows:
            self.look(None)
        is_over = series.ended()[1]
        while learner.step_count < self.arm.epochs and not is_over:
            is_logged = learner.step_count + 1 in self.logged
            before = learner.weights() if is_logged else None
            series.note(learner.step())
            if is_logged:
                is_over = self.look(before)
            if learner.step_count in self.arm.keep:
                self.keep()
            if learner.step_count % PATIENCE and not is_logged:
                continue
            report(learner.step_count)
            if not self.go_on(should_stop):
                return None
        if self.checkpoint is not None and self.seconds() > 1:
            self.save()  # should the record not be written, nothing is trained twice
        reasons = {c.reason for c in learner.captured.values() if c.reason}
        why = {"not_captured": reasons.pop()} if reasons else {}
        return series.results(self.seconds(), self.info | why)

    def look(self, before: Params | None) -> bool:
        """What is to be seen at this epoch; whether all members may end here.

        Who has just come to ``stop`` is seen as at its end, with the costly observables
        and what is kept of the last epoch, whoever else is in the stack.
        """
        arm, epoch = self.arm, self.learner.step_count
        rarely = arm.rarely[1] if arm.rarely else ()
        names = {*arm.observables, *(rarely if epoch in self.rare else ())}
        self.series.add(epoch, self.learner.observe(names, before))
        if epoch == 0 and 0 in arm.keep:
            self.keep()
        ended, is_over = self.series.ended()
        if ended and rarely and epoch not in self.rare:
            self.series.extend(ended, self.learner.observe(rarely, before))
        if ended and arm.epochs in arm.keep:
            self.keep()
        return is_over

    def keep(self) -> None:
        """The weights of now, for the record; with a member axis in any case."""
        self.series.kept[self.learner.step_count] = {
            name: (tensor if self.stacked else tensor[None]).cpu()
            for name, tensor in self.learner.weights().items()
        }

    def go_on(self, should_stop: Callable[[], bool]) -> bool:
        """Save if it is time to; False where training must stop here."""
        if self.checkpoint is None:
            return True
        is_asked = should_stop()
        if is_asked or time.monotonic() - self.last_saved > CHECKPOINT_SECONDS:
            self.save()
            self.last_saved = time.monotonic()
        return not is_asked

    def seconds(self) -> float:
        return self.spent + time.monotonic() - self.began

    def save(self) -> None:
        assert self.checkpoint is not None
        parts = {"learner": self.learner.state(), "series": self.series.state()}
        content = parts | {"seconds": self.seconds()}
        state.write(self.checkpoint, self.identity, content)


def _lists(values: Params) -> dict[str, list[float]]:
    return {name: v.reshape(-1).tolist() for name, v in values.items()}
