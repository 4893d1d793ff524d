"""The loop: trains members of one kind from their start, or a checkpoint, to their end.

Members of one kind have arms of one `build.stack_key`. The result of a member does not
depend on what its neighbours in a stack did. An epoch is one step.
"""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import torch

from claimbook import project
from claimbook.engine import device as devices
from claimbook.engine import state
from claimbook.engine.build import Params
from claimbook.engine.learner import Learner
from claimbook.errors import Diverged
from claimbook.experiment import Member, Result
from claimbook.protocol import switched

CHECKPOINT_SECONDS = 60.0  # between two checkpoints
SAVED = ("rows", "kept", "trace")  # attributes of a `_Training` in its checkpoint
PATIENCE = 20  # steps between two questions whether to stop, save or report


def train(
    members: Sequence[Member],
    *,
    device: str = "cpu",
    stacked: bool = False,
    checkpoint: Path | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    report: Callable[[int], None] = lambda _: None,
) -> list[Result] | None:
    """Train members of one `build.stack_key` to their end; return results in order.

    ``device`` is "cpu" or "cuda"; ``stacked`` says whether the members are a stack,
    else there is one. The state is saved in the file ``checkpoint`` once a minute, and
    training resumes from it bit for bit. When ``should_stop()`` turns true the state is
    saved, and None is returned; without a checkpoint it is never called. ``report`` is
    called with the number of steps made since the start of the training, at first and
    every few steps. torch's global generator stays as it was. Raises Diverged if a loss
    became NaN where the arm does not go on (``through_nan``), at the end of the other
    members and with their results.
    """
    if device == "cuda":
        devices.prepare_gpu()
    is_onednn = devices.library(device) == "onednn"
    with torch.random.fork_rng(devices=[]), switched(onednn=is_onednn):
        run = _Training(list(members), device, stacked, checkpoint)
        return run.results() if run.to_the_end(should_stop, report) else None


def identity(members: Sequence[Member], device: str = "cpu") -> dict[str, Any]:
    """Return the identity that a checkpoint needs for these members to resume from it.

    It is JSON: the digest of the code, the members in their order, the library of
    matrix products and the version of torch. Other code trains otherwise, and another
    library rounds otherwise. So all steps of a recorded member were trained and
    measured by the source that its record names.
    """
    return {
        "source": project.source(),
        "members": [f"{arm.hash()}-{seed}" for arm, seed in members],
        "matmul": devices.library(device),
        "torch": torch.__version__,
    }


class _Training:
    """Training of some members of one kind, from their start or from a checkpoint.

    Members are named by their index in ``members``. ``rows`` has the measurements of
    each, one dict {column: value} per logged epoch. ``running`` are the indices of the
    members whose training goes on: the rows of the others ended at their ``stop`` or
    where their loss became NaN, though a stack computes their steps all the same.
    ``kept`` has stored weights by epoch, each tensor (members, ...), (1, ...) for a
    single member. ``trace`` (steps, members) has the objective before every step,
    float64, 0 for steps to come; it is (0, members) unless the arm asks for it.
    """

    def __init__(
        self,
        members: list[Member],
        device: str,
        stacked: bool,
        checkpoint: Path | None,
    ):
        self.members = members
        self.arm, _ = members[0]  # all are of one kind
        self.checkpoint = checkpoint
        self.logged = {*self.arm.logged_epochs()}
        self.rare = self.arm.rare_epochs()  # where ``rarely`` is measured
        self.identity = identity(members, device)  # now: code may be edited later
        self.began = self.last_saved = time.monotonic()
        self.learner = Learner(members, device, stacked=stacked)
        self.rows: list[list[dict[str, float]]] = [[] for _ in members]
        self.kept: dict[int, Params] = {}
        traced_steps = self.arm.epochs if self.arm.trace else 0
        shape = (traced_steps, len(members))
        self.trace = torch.zeros(shape, dtype=torch.float64, device=device)
        self.running = [*range(len(members))]
        if checkpoint and (saved := state.read(checkpoint, self.identity, device)):
            self.restore(saved)

    def restore(self, saved: dict[str, Any]) -> None:
        """Set a training that has just begun to ``saved``, what `save` wrote."""
        for attribute in SAVED:
            setattr(self, attribute, saved[attribute])
        # ``running`` is not saved: it follows from the rows
        self.running = [
            index
            for index in self.running
            if not (self.has_stopped(index) or self.has_diverged(index))
        ]
        self.learner.restore(saved["learner"])
        self.began -= saved["seconds"]  # so that `seconds` counts them too

    def to_the_end(
        self, should_stop: Callable[[], bool], report: Callable[[int], None]
    ) -> bool:
        """Train to the end and return True, or False if ``should_stop()`` ended it.

        Without a checkpoint ``should_stop`` is not called and training goes on to the
        end. ``report`` is as in `train`.
        """
        learner, arm = self.learner, self.arm
        if not self.rows[0]:  # it was not resumed
            self.measure(None)
        report(learner.step_count)
        while learner.step_count < arm.epochs and self.running:
            is_logged = learner.step_count + 1 in self.logged
            before = learner.weights() if is_logged else None  # for observables
            loss = learner.step()
            if arm.trace:
                self.trace[learner.step_count - 1] = loss
            if is_logged:  # `measure` keeps weights too
                self.measure(before)
            elif learner.step_count in arm.keep:
                self.keep()
            if learner.step_count % PATIENCE and not is_logged:
                continue  # it is not time to report, save or stop
            report(learner.step_count)
            if self.checkpoint:
                is_stopped = should_stop()
                is_old = time.monotonic() - self.last_saved > CHECKPOINT_SECONDS
                if is_stopped or is_old:
                    self.save(self.checkpoint)
                if is_stopped:
                    return False
        # if the record cannot be written, no more than a second of training is lost
        if self.checkpoint and self.seconds() > 1:
            self.save(self.checkpoint)
        return True

    def measure(self, before: Params | None) -> None:
        """Add a row of observables to every running member, and keep weights if asked.

        ``before`` has the weights before the last step; it is None before the first
        one. A member that stops here, by ``stop`` of its arm, is measured and kept as
        at the last epoch of its arm, rare observables included. It leaves ``running``,
        and so does one that diverged.
        """
        arm, epoch = self.arm, self.learner.step_count
        is_rare = epoch in self.rare
        for index in self.running:  # the other columns come below
            self.rows[index].append({"epoch": epoch})
        wanted = {*arm.observables, *(arm.rare_observables if is_rare else ())}
        self.record_observables(wanted, self.running, before)
        going_on = [i for i in self.running if not self.has_diverged(i)]
        stopped = [index for index in going_on if self.has_stopped(index)]
        if stopped and not is_rare:  # else it has been measured above
            self.record_observables(arm.rare_observables, stopped, before)
        if epoch in arm.keep or (stopped and arm.epochs in arm.keep):
            self.keep()
        self.running = [index for index in going_on if index not in stopped]

    def has_stopped(self, index: int) -> bool:
        """Return whether the arm's ``stop`` lets a member end at its last row.

        It may end once ``after_stop`` epochs have passed since its first row with that
        test accuracy, which a NaN is not. False for an arm without ``stop``.
        """
        if self.arm.stop is None:
            return False
        last_epoch = self.rows[index][-1]["epoch"]
        for row in self.rows[index]:
            if row["test_accuracy"] >= self.arm.stop:
                return last_epoch - row["epoch"] >= self.arm.after_stop
        return False

    def record_observables(
        self, names: Iterable[str], members: list[int], before: Params | None
    ) -> None:
        """Measure the named observables and add them to the last rows of some members.

        ``members`` are their indices; ``before`` is as in `measure`. Without names, or
        if all of them read a step and there was none, nothing is added.
        """
        if values := self.learner.observe(names, before):
            # (members,) each, (1,) of a single member
            columns = [value.reshape(-1).double() for value in values.values()]
            # (members, columns) in one transfer, as each has to wait for a GPU
            numbers_by_member = torch.stack(columns, 1).tolist()
            for index in members:
                named_numbers = zip(values, numbers_by_member[index], strict=True)
                self.rows[index][-1] |= named_numbers

    def has_diverged(self, index: int) -> bool:
        """Return whether the last training loss of a member is a NaN that ends it.

        Infinity ends none, and with ``through_nan`` of the arm no NaN does.
        """
        loss = self.rows[index][-1]["train_loss"]
        return math.isnan(loss) and not self.arm.through_nan

    def keep(self) -> None:
        """Keep a copy of the weights of all members as they are now.

        `result` chooses what the record of each gets.
        """
        self.kept[self.learner.step_count] = self.weights()

    def weights(self) -> Params:
        """Return a copy of the weights on the CPU, (members, ...) in any case."""
        weights = self.learner.weights()  # copies already
        return {
            n: (w if self.learner.stacked else w[None]).cpu()
            for n, w in weights.items()
        }

    def seconds(self) -> float:
        """Return the seconds of training so far, those before a resumption included."""
        return time.monotonic() - self.began

    def save(self, checkpoint: Path) -> None:
        """Write the state of the training into the file of a checkpoint."""
        content = {"learner": self.learner.state(), "seconds": self.seconds()}
        content |= {attribute: getattr(self, attribute) for attribute in SAVED}
        state.write(checkpoint, self.identity, content)
        self.last_saved = time.monotonic()

    def results(self) -> list[Result]:
        """Return the result of every member, in order.

        Raises Diverged, with the results of the others, if a loss became NaN. The time
        of a stack is shared out evenly, so that times of members can be added.
        """
        member_count = len(self.members)
        info = devices.describe(self.learner.device) | {
            "members_together": member_count
        }
        seconds_each = self.seconds() / member_count
        diverged = [i for i in range(member_count) if self.has_diverged(i)]
        outcomes = [
            None if index in diverged else self.result(index, seconds_each, info)
            for index in range(member_count)
        ]
        if diverged:
            members = (self.members[index] for index in diverged)
            named = "; ".join(f"arm {arm.name!r}, seed {seed}" for arm, seed in members)
            epoch = min(self.rows[index][-1]["epoch"] for index in diverged)
            raise Diverged(
                f"{named}: the training loss became NaN by epoch {epoch}: "
                "lower the learning rate or use a wider dtype",
                outcomes,
            )
        return [result for result in outcomes if result]  # none is None here

    def result(self, index: int, seconds: float, info: dict[str, Any]) -> Result:
        """Return the result of one member: its rows, kept weights and trace.

        ``seconds`` and ``info`` are those of `Result`. Weights that another member of
        the stack kept at its own stop are left out, and so are all weights if the arm's
        ``keep_seeds`` lack the seed. The trace is None if the arm does not ask for it.
        """
        arm, seed = self.members[index]
        rows = self.rows[index]
        last_epoch = int(rows[-1]["epoch"])
        kept_epochs = {epoch for epoch in arm.keep if epoch <= last_epoch}
        if arm.epochs in arm.keep:  # asked for at the end, which came early
            kept_epochs.add(last_epoch)
        dtype = getattr(torch, arm.keep_dtype or arm.dtype)
        kept = {
            epoch: {name: w[index].to(dtype) for name, w in weights.items()}
            for epoch, weights in self.kept.items()
            if arm.keeps_weights(seed) and epoch in kept_epochs
        }
        trace = self.trace[:last_epoch, index].tolist() if arm.trace else None
        return Result(arm, seed, rows, kept, seconds, info, trace)
