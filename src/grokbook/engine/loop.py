"""The loop: members of one kind from their start, or a checkpoint, to their end.

It steps, looks at the logged epochs, keeps what an arm asks for, opens windows, and
saves its state now and then. What it leaves are ``Result``s; it knows no record.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from grokbook.engine import build, device, observe, state
from grokbook.errors import Diverged
from grokbook.experiment import Member, Result
from grokbook.names import check, options

CHECKPOINT_SECONDS = 60.0
PATIENCE = 20  # steps between questions whether to stop, save or report


def train(
    members: Sequence[Member],
    *,
    on: str = "cpu",
    matmul: str = "torch",
    stacked: bool = False,
    checkpoint: Path | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    report: Callable[[int], None] = lambda _: None,
) -> list[Result] | None:
    """Train members of one kind to the end and return their results, in order.

    ``on``: "cpu" or "cuda"; ``matmul``: the library that multiplies on a CPU. With
    ``checkpoint`` the state is saved there now and then, and training resumes from it
    bit for bit; where a file there is not theirs it is kept aside. When
    ``should_stop()`` turns true the state is saved and the result is None. Diverged if
    a loss becomes NaN: at once where no other member is left, else at the end, with
    the results of the others. ValueError if an arm names what does not exist.
    """
    for arm, _ in members:
        check(arm)
    generator = torch.random.get_rng_state()
    try:
        with device.as_asked(on, matmul):
            run = _Run(list(members), on, matmul, stacked, checkpoint)
            return run.to_the_end(should_stop, report)
    finally:
        torch.random.set_rng_state(generator)


def identity(members: Sequence[Member], matmul: str) -> dict[str, Any]:
    """What a checkpoint must say to be these members' own."""
    return {
        "members": [f"{arm.hash()}-{seed}" for arm, seed in members],
        "matmul": matmul,
    }


class _Run:
    """One training from where it is to its end."""

    def __init__(
        self,
        members: list[Member],
        on: str,
        matmul: str,
        stacked: bool,
        checkpoint: Path | None,
    ):
        self.arm, self.checkpoint = members[0][0], checkpoint
        self.learner = build.learner(members, on, stacked=stacked)
        self.journal = Journal(members, stacked)
        self.logged = set(self.arm.logged_epochs())
        self.rare = self.arm.rare_epochs()
        self.identity = identity(members, "cuBLAS" if on == "cuda" else matmul)
        self.info = device.describe(on, matmul)
        self.began, self.spent = time.monotonic(), 0.0
        self.last_saved = self.began
        saved = checkpoint and state.read(
            checkpoint, self.identity, on, lambda content: self.fault(content)
        )
        if saved:
            self.learner.restore(saved["learner"])
            self.journal = Journal.resumed(members, stacked, saved["journal"])
            self.spent = saved["seconds"]

    def fault(self, content: dict[str, Any]) -> str:
        """What is wrong with the content of a checkpoint, in words, or ""."""
        try:
            epoch, rows = content["learner"]["step"], content["journal"]["rows"]
            if not 0 <= epoch <= self.arm.epochs:
                return f"is at epoch {epoch} of {self.arm.epochs}"
            found = [row["epoch"] for row in rows if "of" not in row]
            if found != [e for e in sorted(self.logged) if e <= epoch]:
                return f"lacks rows of epochs up to {epoch}"
            if self.arm.trace and len(content["journal"]["trace"]) != epoch:
                return f"lacks losses of steps up to {epoch}"
        except (KeyError, TypeError) as error:
            return f"lacks {error}"
        return ""

    def to_the_end(
        self, should_stop: Callable[[], bool], report: Callable[[int], None]
    ) -> list[Result] | None:
        learner, journal, arm = self.learner, self.journal, self.arm
        if learner.step_count == 0 and not journal.rows:
            self.look(None)
        reached = journal.reached(arm.stop)
        while learner.step_count < arm.epochs and not reached:
            is_logged = learner.step_count + 1 in self.logged
            is_seen = is_logged or journal.is_open(learner.step_count + 1)
            before = learner.weights() if is_seen else None
            journal.note(learner.step())
            self.look(before)
            journal.watch(learner)
            if learner.step_count % PATIENCE and not is_logged:
                continue
            reached = is_logged and journal.reached(arm.stop)
            report(learner.step_count)
            if not self.go_on(should_stop):
                return None
        if self.checkpoint is not None and self.spent + self.elapsed() > 1:
            self.save()  # should the record not be written, nothing is trained twice
        return journal.results(self.spent + self.elapsed(), self.info | self.reasons())

    def look(self, before: dict[str, Tensor] | None) -> None:
        """What is to be seen and kept at this epoch."""
        epoch, names = self.learner.step_count, set[str]()
        if epoch in self.logged:
            names.update(self.arm.observables)
        if epoch in self.rare:
            names.update(self.arm.rarely[1] if self.arm.rarely else ())
        dense = self.journal.is_open(epoch)
        if dense and self.arm.window:
            names.update(self.arm.window.observables)
        if names:
            values = self.learner.observe(names, before)
            self.journal.add(epoch, values, everyone=epoch in self.logged)
        if epoch in self.arm.keep:
            weights = self.learner.weights()
            self.journal.kept[epoch] = {k: w.cpu() for k, w in weights.items()}

    def go_on(self, should_stop: Callable[[], bool]) -> bool:
        """Save if it is time to; False where training must stop here."""
        if self.checkpoint is None:
            return True
        if should_stop():
            self.save()
            return False
        if time.monotonic() - self.last_saved > CHECKPOINT_SECONDS:
            self.save()
            self.last_saved = time.monotonic()
        return True

    def elapsed(self) -> float:
        return time.monotonic() - self.began

    def save(self) -> None:
        assert self.checkpoint is not None
        content = {
            "learner": self.learner.state(),
            "journal": self.journal.state(),
            "seconds": self.spent + self.elapsed(),
        }
        state.write(self.checkpoint, self.identity, content)

    def reasons(self) -> dict[str, str]:
        """Why a step was not captured on a GPU, for the record."""
        reason = next((g.reason for g in self.learner.graphs() if g.reason), "")
        return {"not_captured": reason} if reason else {}


@dataclass
class _Watch:
    """The windows of one member: which are open, and the states before them."""

    opened: list[int] = field(default_factory=list)
    states: dict[int, Any] = field(default_factory=dict)


class Journal:
    """The series of all members, kept on the device until somebody needs them."""

    def __init__(self, members: list[Member], stacked: bool):
        self.members, self.stacked = members, stacked
        self.arm = members[0][0]
        self.rows: list[dict[str, Any]] = []
        self.kept: dict[int, dict[str, Tensor]] = {}
        self.trace: list[list[float]] = []  # by step, the loss of every member
        self.watches = [_Watch() for _ in members]
        self.diverged: dict[int, int] = {}  # member -> epoch at which its loss was NaN
        self._earlier: dict[str, Any] | None = None
        self._waiting: list[tuple[int, dict[str, Tensor], list[int] | None]] = []
        self._losses: list[Tensor] = []

    @classmethod
    def resumed(
        cls, members: list[Member], stacked: bool, saved: dict[str, Any]
    ) -> "Journal":
        """Go on from what a checkpoint has."""
        journal = cls(members, stacked)
        journal.rows, journal.kept = saved["rows"], saved["kept"]
        journal.trace, journal._earlier = saved["trace"], saved["earlier"]
        journal.watches = [_Watch(**one) for one in saved["watches"]]
        for row in journal.rows:
            journal._look_for_nan(row)
        return journal

    def state(self) -> dict[str, Any]:
        self.settle()
        return {
            "rows": self.rows,
            "kept": self.kept,
            "trace": self.trace,
            "earlier": self._earlier,
            "watches": [vars(watch) for watch in self.watches],
        }

    # The loss of every step, and windows ---------------------------------------------

    def note(self, loss: Tensor) -> None:
        """Keep the loss of a step where the arm or its window wants it."""
        if self.arm.trace or self.arm.window:
            self._losses.append(loss.clone())
            if loss.device.type == "cpu":
                self._settle_losses()

    def is_open(self, epoch: int) -> bool:
        return bool(self._inside(epoch))

    def _inside(self, epoch: int) -> list[int]:
        """Members that have a window open at an epoch."""
        window = self.arm.window
        if window is None:
            return []
        return [
            k
            for k, watch in enumerate(self.watches)
            if any(first < epoch <= first + window.length for first in watch.opened)
        ]

    def watch(self, learner: Any) -> None:
        """Open windows where the rule says so, and hold the state to replay from."""
        window, epoch = self.arm.window, learner.step_count
        if window is None or epoch % window.every:
            return
        self._settle_losses()
        rule = observe.RULES[window.rule.name]
        for k, watch in enumerate(self.watches):
            is_open = k in self._inside(epoch + 1)
            if is_open or len(watch.opened) >= window.most or not self._earlier:
                continue
            if rule([row[k] for row in self.trace], **options(window.rule)):
                watch.opened.append(epoch)
                earlier = _member(self._earlier, k, self.stacked)
                watch.states[earlier["step"]] = earlier
        self._earlier = learner.state()

    def _settle_losses(self) -> None:
        if self._losses:
            stacked = torch.stack([loss.reshape(-1) for loss in self._losses])
            self.trace += stacked.double().tolist()
            self._losses = []

    # Rows ---------------------------------------------------------------------------

    def add(self, epoch: int, values: dict[str, Tensor], *, everyone: bool) -> None:
        """A row of all members, or only of those that have a window open."""
        inside = None if everyone else self._inside(epoch)
        self._waiting.append((epoch, values, inside))
        if next(iter(values.values())).device.type == "cpu":
            self.settle()

    def settle(self) -> None:
        """Bring waiting values to the CPU; Diverged if all training losses are NaN."""
        self._settle_losses()
        for epoch, values, inside in self._waiting:
            row: dict[str, Any] = {n: v.reshape(-1).tolist() for n, v in values.items()}
            about = (
                {"epoch": epoch} if inside is None else {"epoch": epoch, "of": inside}
            )
            self.rows.append(about | row)
            self._look_for_nan(self.rows[-1])
        self._waiting = []
        if len(self.diverged) == len(self.members):
            raise self._error([None] * len(self.members))

    def _look_for_nan(self, row: dict[str, Any]) -> None:
        for k, loss in enumerate(row.get("train_loss", ())):
            if math.isnan(loss):
                self.diverged.setdefault(k, row["epoch"])

    def _error(self, results: list[Result | None]) -> Diverged:
        lost = [self.members[k] for k in self.diverged]
        who = "; ".join(f"arm {arm.name!r}, seed {seed}" for arm, seed in lost)
        return Diverged(
            f"{who}: the training loss became NaN by epoch "
            f"{min(self.diverged.values())}; lower the learning rate or use a wider "
            "dtype (members that finished are recorded)",
            results,
        )

    def reached(self, stop: float | None) -> bool:
        """Whether every member that is left has reached a test accuracy."""
        if stop is None:
            return False
        self.settle()
        left = set(range(len(self.members))) - set(self.diverged)
        return bool(self.rows) and all(
            any(row["test_accuracy"][k] >= stop for row in self.rows if "of" not in row)
            for k in left
        )

    def results(self, seconds: float, info: dict[str, Any]) -> list[Result]:
        """What every member leaves; Diverged, with the others', if one did."""
        self.settle()
        share = seconds / len(self.members)
        info = info | {"members_together": len(self.members)}
        found = [
            None if k in self.diverged else self._result(k, share, info)
            for k in range(len(self.members))
        ]
        if self.diverged:
            raise self._error(found)
        return [result for result in found if result]

    def _result(self, k: int, seconds: float, info: dict[str, Any]) -> Result:
        arm, seed = self.members[k]
        rows = [
            {n: v if n == "epoch" else v[k] for n, v in row.items() if n != "of"}
            for row in self.rows
            if k in row.get("of", [k])
        ]
        if arm.stop is not None:
            rows = _until(rows, arm.stop)
        last = rows[-1]["epoch"]
        return Result(
            arm,
            seed,
            rows,
            self._kept(k),
            seconds,
            info,
            [step[k] for step in self.trace[:last]] if arm.trace else None,
            self.watches[k].states,
        )

    def _kept(self, k: int) -> dict[int, dict[str, Tensor]]:
        arm, seed = self.members[k]
        if arm.keep_seeds is not None and seed not in arm.keep_seeds:
            return {}
        dtype = getattr(torch, arm.keep_dtype or arm.dtype)
        return {
            epoch: {n: (w[k] if self.stacked else w).to(dtype) for n, w in all_.items()}
            for epoch, all_ in self.kept.items()
        }


def _member(saved: dict[str, Any], k: int, stacked: bool) -> dict[str, Any]:
    """The state of one member of a stack, as if it had been alone."""
    if not stacked:
        return saved
    count = len(next(iter(saved["params"].values())))

    def one(leaf: Any) -> Any:
        if isinstance(leaf, Tensor) and leaf.dim() and len(leaf) == count:
            return leaf[k].clone()
        return leaf

    return tree_map(one, saved)


def _until(rows: list[dict[str, float]], stop: float) -> list[dict[str, float]]:
    for index, row in enumerate(rows):
        if row.get("test_accuracy", -math.inf) >= stop:
            return rows[: index + 1]
    return rows


def replay(
    member: Member,
    saved: dict[str, Any],
    *,
    steps: int,
    observables: Sequence[str],
    every: int = 1,
    matmul: str = "torch",
) -> list[dict[str, float]]:
    """Rows of a member trained again from a kept state, with other observables.

    ``saved`` is one of ``Result.states``; it is looked at every ``every`` steps, and
    the loss of each step before it stands under "step_loss". On a CPU and with the
    library that the member was trained with, the steps are the same bit for bit.
    """
    check(member[0])
    with device.as_asked("cpu", matmul):
        learner = build.learner([member])
        learner.restore(saved)
        rows = []
        for step in range(1, steps + 1):
            is_seen = step % every == 0
            before = learner.weights() if is_seen else None
            loss = float(learner.step())
            if is_seen:
                values = learner.observe(observables, before)
                row = {name: float(value) for name, value in values.items()}
                rows.append({"epoch": learner.step_count, "step_loss": loss} | row)
    return rows
