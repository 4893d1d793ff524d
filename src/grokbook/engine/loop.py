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

from grokbook.engine import device, state
from grokbook.engine.build import Params
from grokbook.engine.learner import Learner
from grokbook.errors import Diverged
from grokbook.experiment import Member, Result

CHECKPOINT_SECONDS = 60.0
SEEN = ("rows", "kept", "trace", "going")  # of a run, in its checkpoint
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

    ``on``: "cpu" or "cuda". With ``checkpoint`` the state is saved there now and then,
    and training resumes from it bit for bit; where a file there is not theirs it is
    kept aside. When ``should_stop()`` turns true the state is saved and the result is
    None. Diverged if a loss becomes NaN: at once where no other member is left, else at
    the end, with the results of the others.
    """
    generator = torch.random.get_rng_state()
    try:
        with device.as_asked(on):
            run = _Run(list(members), on, stacked, checkpoint)
            return run.results() if run.to_the_end(should_stop, report) else None
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


class _Run:
    """One training from where it is to its end.

    ``rows`` of a member end with the look at which it comes to ``stop`` or to NaN,
    whoever else is in the stack; ``going`` are those that have come to neither.
    """

    def __init__(
        self, members: list[Member], on: str, stacked: bool, checkpoint: Path | None
    ):
        self.members, self.arm, self.on = members, members[0][0], on
        self.checkpoint, self.stacked = checkpoint, stacked
        self.logged, self.rare = {*self.arm.logged_epochs()}, self.arm.rare_epochs()
        self.began = self.last_saved = time.monotonic()
        self.learner = Learner(members, on, stacked=stacked)
        self.rows: list[list[dict[str, float]]] = [[] for _ in members]
        self.kept: dict[int, Params] = {}  # by epoch, with a member axis in any case
        self.trace = torch.zeros(
            (self.arm.epochs if self.arm.trace else 0, len(members)),
            dtype=torch.float64,
            device=on,
        )
        self.going = [*range(len(members))]
        if checkpoint and (saved := state.read(checkpoint, identity(members, on), on)):
            self.learner.restore(saved["learner"])
            self.began -= saved["seconds"]
            for part in SEEN:
                setattr(self, part, saved[part])

    def to_the_end(
        self, should_stop: Callable[[], bool], report: Callable[[int], None]
    ) -> bool:
        """Whether it came there, and was not stopped before."""
        learner, arm = self.learner, self.arm
        if not self.rows[0]:
            self.look(None)
        while learner.step_count < arm.epochs and self.going:
            is_logged = learner.step_count + 1 in self.logged
            before = learner.weights() if is_logged else None
            loss = learner.step()
            if arm.trace:
                self.trace[learner.step_count - 1] = loss
            if is_logged:
                self.look(before)
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

    def look(self, before: Params | None) -> None:
        """What is to be seen and kept at this epoch.

        Who has just come to ``stop`` is seen as at its end, with the costly observables
        and what is kept of the last epoch.
        """
        arm, epoch = self.arm, self.learner.step_count
        rarely = arm.rarely[1] if arm.rarely else ()
        is_rare = epoch in self.rare
        for k in self.going:
            self.rows[k].append({"epoch": epoch})
        self.see({*arm.observables, *(rarely if is_rare else ())}, self.going, before)
        come = [k for k in self.going if self.has_come(k)]
        if come and not is_rare:
            self.see(rarely, come, before)
        if epoch in arm.keep or (come and arm.epochs in arm.keep):
            self.keep()
        self.going = [k for k in self.going if not (k in come or self.is_lost(k))]

    def see(self, names: Any, members: list[int], before: Params | None) -> None:
        """Put observables of now into the last rows of some members."""
        if values := self.learner.observe(names, before):
            columns = [value.reshape(-1).double() for value in values.values()]
            every = torch.stack(columns, 1).tolist()  # at once: a GPU is waited for
            for k in members:
                self.rows[k][-1] |= zip(values, every[k], strict=True)

    def is_lost(self, k: int) -> bool:
        """Whether a NaN has ended a member."""
        return math.isnan(self.rows[k][-1]["train_loss"]) and not self.arm.through_nan

    def has_come(self, k: int) -> bool:
        """Whether a member has come to ``stop``."""
        stop = self.arm.stop
        return stop is not None and self.rows[k][-1]["test_accuracy"] >= stop

    def keep(self) -> None:
        """The weights of now, for the record."""
        self.kept[self.learner.step_count] = {
            name: (tensor if self.stacked else tensor[None]).cpu()
            for name, tensor in self.learner.weights().items()
        }

    def seconds(self) -> float:
        return time.monotonic() - self.began

    def save(self, checkpoint: Path) -> None:
        content = {"learner": self.learner.state(), "seconds": self.seconds()}
        content |= {part: getattr(self, part) for part in SEEN}
        state.write(checkpoint, identity(self.members, self.on), content)
        self.last_saved = time.monotonic()

    def results(self) -> list[Result]:
        """What every member leaves; Diverged, with the others', if one did."""
        many = range(len(self.members))
        info = device.describe(self.on) | {"members_together": len(many)}
        share = self.seconds() / len(many)
        lost = [k for k in many if self.is_lost(k)]
        found = [None if k in lost else self.result(k, share, info) for k in many]
        if lost:
            theirs = (self.members[k] for k in lost)
            who = "; ".join(f"arm {arm.name!r}, seed {seed}" for arm, seed in theirs)
            raise Diverged(
                f"{who}: the training loss became NaN by epoch "
                f"{min(self.rows[k][-1]['epoch'] for k in lost)}; lower the learning "
                "rate or use a wider dtype (members that finished are recorded)",
                found,
            )
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
