"""The journal of a training: rows, losses of every step, kept weights, windows, NaN.

Values stay on the device until somebody needs them. What a member leaves depends on
nothing that its neighbours in a stack did: a row of a window is its own, and a loss
that becomes NaN takes no other member with it.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from grokbook import observables
from grokbook.errors import Diverged
from grokbook.experiment import Member, Result
from grokbook.names import options

# What a row says of itself; the rest of it are values by member.
ABOUT = frozenset(["of", "inside", "dense"])


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
        self.nan_since: dict[int, int] = {}  # member -> epoch at which its loss was NaN
        self._earlier: list[dict[str, Any]] = []  # states at the last looks of a rule
        self._waiting: list[tuple[int, dict[str, Tensor], dict[str, Tensor]]] = []
        self._losses: list[Tensor] = []

    @property
    def diverged(self) -> dict[int, int]:
        """Members that a NaN has ended, and when."""
        return {} if self.arm.through_nan else self.nan_since

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
        """Members that are to be seen at an epoch because their window is open."""
        window = self.arm.window
        if window is None or window.replay:
            return []
        return [k for k in range(len(self.watches)) if self._has_open(k, epoch)]

    def _has_open(self, k: int, epoch: int) -> bool:
        """Whether a member has a window open at an epoch."""
        length = self.arm.window.length if self.arm.window else 0
        opened = self.watches[k].opened
        return any(first < epoch <= first + length for first in opened)

    def watch(self, learner: Any) -> None:
        """Open windows where the rule says so, and hold the state to replay from."""
        window, epoch = self.arm.window, learner.step_count
        if window is None or epoch % window.every:
            return
        self._settle_losses()
        rule = observables.RULES[window.rule.name]
        for k, watch in enumerate(self.watches):
            is_open = self._has_open(k, epoch + 1)
            if is_open or len(watch.opened) >= window.most or not self._earlier:
                continue
            if rule([row[k] for row in self.trace], **options(window.rule)):
                watch.opened.append(epoch)
                earlier = _member(self._earlier[0], k, self.stacked)
                watch.states[earlier["step"]] = earlier
        held = 2 if window.replay else 1
        self._earlier = [*self._earlier, learner.state()][-held:]

    def _settle_losses(self) -> None:
        if self._losses:
            stacked = torch.stack([loss.reshape(-1) for loss in self._losses])
            self.trace += stacked.double().tolist()
            self._losses = []

    # Rows ---------------------------------------------------------------------------

    def add(
        self, epoch: int, values: dict[str, Tensor], dense: dict[str, Tensor]
    ) -> None:
        """A row: values of all members, dense ones of those that have a window open."""
        self._waiting.append((epoch, values, dense))
        if next(iter((values or dense).values())).device.type == "cpu":
            self.settle()

    def settle(self) -> None:
        """Bring waiting values to the CPU; Diverged if all training losses are NaN."""
        self._settle_losses()
        for epoch, values, dense in self._waiting:
            row: dict[str, Any] = {"epoch": epoch}
            if not values:
                row["of"], values = self._inside(epoch), dense
            elif dense:
                row |= {"inside": self._inside(epoch), "dense": _lists(dense)}
            self.rows.append(row | _lists(values))
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

    def ended(self, stop: float | None) -> list[int]:
        """Members that reached a test accuracy at the last look and not before."""
        if stop is None:
            return []
        self.settle()
        looks = [row["test_accuracy"] for row in self.rows if "of" not in row]
        return [
            k
            for k, now in enumerate(looks[-1])
            if now >= stop and all(look[k] < stop for look in looks[:-1])
        ]

    def extend(self, members: list[int], values: dict[str, Tensor]) -> None:
        """More values of some members at the last look, beside those of a window."""
        row = self.rows[-1]
        row["inside"] = sorted({*row.get("inside", ()), *members})
        row["dense"] = row.get("dense", {}) | _lists(values)

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
            {n: v if n == "epoch" else v[k] for n, v in row.items() if n not in ABOUT}
            | {n: v[k] for n, v in row.get("dense", {}).items() if k in row["inside"]}
            for row in self.rows
            if k in row.get("of", [k])
        ]
        if arm.window:
            info = info | {"windows": len(self.watches[k].opened)}
        if k in self.nan_since:
            info = info | {"nan_since": self.nan_since[k]}
        if arm.stop is not None:
            rows = _until(rows, arm.stop)
        last = rows[-1]["epoch"]
        return Result(
            arm,
            seed,
            rows,
            self._kept(k, last),
            seconds,
            info,
            [step[k] for step in self.trace[:last]] if arm.trace else None,
            {e: s for e, s in self.watches[k].states.items() if e <= last},
        )

    def _kept(self, k: int, last: int) -> dict[int, dict[str, Tensor]]:
        """Weights of the epochs that the arm asks for, its own end for its last one."""
        arm, seed = self.members[k]
        wanted = {epoch for epoch in arm.keep if epoch <= last}
        if arm.epochs in arm.keep:
            wanted.add(last)
        if arm.keep_seeds is not None and seed not in arm.keep_seeds:
            return {}
        dtype = getattr(torch, arm.keep_dtype or arm.dtype)
        return {
            epoch: {n: (w[k] if self.stacked else w).to(dtype) for n, w in all_.items()}
            for epoch, all_ in self.kept.items()
            if epoch in wanted
        }


def _lists(values: dict[str, Tensor]) -> dict[str, list[float]]:
    return {name: v.reshape(-1).tolist() for name, v in values.items()}


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
