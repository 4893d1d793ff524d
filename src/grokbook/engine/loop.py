"""The loop: members of one kind from their start, or a checkpoint, to their end.

It steps, looks at the logged epochs, keeps what an arm asks for, opens windows, and
saves its state now and then. What it leaves are ``Result``s; it knows no record.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from grokbook.engine import build, device, state
from grokbook.engine.journal import Journal
from grokbook.errors import Diverged
from grokbook.experiment import Member, Result
from grokbook.names import check

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
    """What a checkpoint must say to be these members' own.

    Another release of PyTorch may draw and round otherwise, and a member has one.
    """
    return {
        "members": [f"{arm.hash()}-{seed}" for arm, seed in members],
        "matmul": matmul,
        "torch": torch.__version__,
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
        self.on, self.matmul = on, matmul
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
            reached = is_logged and self.reached(before)
            report(learner.step_count)
            if not self.go_on(should_stop):
                return None
        if self.checkpoint is not None and self.spent + self.elapsed() > 1:
            self.save()  # should the record not be written, nothing is trained twice
        try:
            seconds = self.spent + self.elapsed()
            results = journal.results(seconds, self.info | self.reasons())
        except Diverged as error:
            for result in filter(None, error.outcomes):
                self.see_windows(result)
            raise
        for result in results:
            self.see_windows(result)
        return results

    def see_windows(self, result: Result) -> None:
        """Train the windows of a member again that begin before their rule held."""
        window = result.arm.window
        if window is None or not window.replay:
            return
        for start, saved in result.states.items():
            end = start + 2 * window.every + window.length
            found = replay(
                (result.arm, result.seed),
                saved,
                steps=min(end, self.arm.epochs) - start,
                observables=window.observables,
                on=self.on,
                matmul=self.matmul,
            )
            rows = {row["epoch"]: row for row in found}
            for row in result.rows:
                rows[row["epoch"]] = rows.get(row["epoch"], {}) | row
            result.rows = [rows[epoch] for epoch in sorted(rows)]
        result.states = {}

    def look(self, before: dict[str, Tensor] | None) -> None:
        """What is to be seen and kept at this epoch."""
        epoch, names = self.learner.step_count, set[str]()
        if epoch in self.logged:
            names.update(self.arm.observables)
        if epoch in self.rare:
            names.update(self.arm.rarely[1] if self.arm.rarely else ())
        dense: set[str] = set()
        if self.arm.window and self.journal.is_open(epoch):
            dense = {*self.arm.window.observables} - names
        if names or dense:
            found = [self.learner.observe(some, before) for some in (names, dense)]
            self.journal.add(epoch, *found)
        if epoch in self.arm.keep:
            self.keep()

    def keep(self) -> None:
        """The weights of now, for the record."""
        weights = self.learner.weights()
        self.journal.kept[self.learner.step_count] = {
            name: tensor.cpu() for name, tensor in weights.items()
        }

    def reached(self, before: dict[str, Tensor] | None) -> bool:
        """Whether all members may end; who has just come so far is seen as at its end.

        That is with the costly observables and what is kept of the last epoch, so that
        a member has them whoever else is in the stack.
        """
        ended = self.journal.ended(self.arm.stop)
        if ended and self.arm.rarely and self.learner.step_count not in self.rare:
            found = self.learner.observe(self.arm.rarely[1], before)
            self.journal.extend(ended, found)
        if ended and self.arm.epochs in self.arm.keep:
            self.keep()
        return self.journal.reached(self.arm.stop)

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


def replay(
    member: Member,
    saved: dict[str, Any],
    *,
    steps: int,
    observables: Sequence[str],
    every: int = 1,
    on: str = "cpu",
    matmul: str = "torch",
) -> list[dict[str, float]]:
    """Rows of a member trained again from a kept state, with other observables.

    ``saved`` is one of ``Result.states``; it is looked at every ``every`` steps, and
    the loss of each step before it stands under "step_loss". On a CPU and with the
    library that the member was trained with, the steps are the same bit for bit.
    """
    check(member[0])
    with device.as_asked(on, matmul):
        learner = build.learner([member], on)
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
