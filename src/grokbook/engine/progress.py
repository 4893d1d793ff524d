"""How far a training is, told on stderr: members done, steps per second, time left.

On a terminal it is a bar, elsewhere a line every ten seconds. Time left is counted in
expected work, since a step of one arm may cost many times that of another. Nothing is
told where the environment has GROKBOOK_PROGRESS=no, as a notebook that is executed.
"""

import os
import shutil
import sys
import time
from collections.abc import Sequence
from typing import Any

from grokbook.durations import span
from grokbook.engine import cost
from grokbook.engine.plan import Task

EVERY = 10.0  # seconds between two lines
FORMAT = "{bar:10}{percentage:4.0f} %  {desc}"


class Progress:
    """What is done of some tasks; ``wanted``: True is a bar, False nothing."""

    def __init__(self, tasks: Sequence[Task], wanted: bool | None = None):
        self.names = list(dict.fromkeys(e.name for t in tasks for e in t.experiments))
        self.members, self.finished = len(tasks), set[str]()
        self.price = {
            task.name: cost.seconds([task.member], "cpu") / task.member[0].epochs
            for task in tasks
        }
        self.total = sum(self.price[t.name] * t.member[0].epochs for t in tasks)
        self.epochs: dict[str, int] = {}
        self.steps, self.work = 0, 0.0
        self.began: float | None = None  # with the first word: workers start slowly
        self.told = time.monotonic()
        is_quiet = os.environ.get("GROKBOOK_PROGRESS") == "no" or not tasks
        is_silent = is_quiet if wanted is None else not wanted
        self.bar = None if is_silent else _bar(self.line(), self.total, wanted)
        self.speaks = not is_silent and self.bar is None

    def close(self) -> None:
        """Remove the bar."""
        if self.bar is not None:
            self.bar.close()

    def reach(self, task: Task, epoch: int, *, done: bool = False) -> None:
        """A member is at this epoch, or ``done``: one that ends early has no work left.

        What a checkpoint had is not counted as done here.
        """
        price, last = self.price[task.name], task.member[0].epochs
        self.began = self.began or time.monotonic()
        if task.name in self.finished:  # a word of a worker that comes late
            return
        if task.name not in self.epochs and not done:
            self.epochs[task.name] = epoch
            self.total -= price * epoch
        before = self.epochs.get(task.name, 0)
        self.epochs[task.name] = epoch
        self.steps += max(epoch - before, 0)
        self.work += price * ((last if done else epoch) - before)
        if done:
            self.finished.add(task.name)
        self._tell()

    def line(self) -> str:
        """`prieto2025/fig15: 3 of 7 members, 2 min left, 812 steps/s`."""
        what = self.names[0] if len(self.names) == 1 else f"{len(self.names)} records"
        told = f"{what}: {len(self.finished)} of {self.members} members"
        if self.began is None or self.work <= 0:
            return told
        spent = max(time.monotonic() - self.began, 1e-3)
        left = max(self.total - self.work, 0) / self.work * spent
        return f"{told}, {span(left)} left, {self.steps / spent:,.0f} steps/s"

    def _tell(self) -> None:
        if self.bar is not None:
            self.bar.total = self.total
            self.bar.set_description_str(self.line(), refresh=False)
            self.bar.update(self.work - self.bar.n)
        elif self.speaks and time.monotonic() - self.told >= EVERY:
            self.told = time.monotonic()
            print(self.line(), file=sys.stderr, flush=True)


def _bar(told: str, total: float, wanted: bool | None) -> Any:
    """A bar, or None without a terminal or without tqdm."""
    if not (wanted or (sys.stderr is not None and sys.stderr.isatty())):
        return None
    try:
        from tqdm import tqdm
    except ImportError:
        return None
    size = shutil.get_terminal_size()  # 80 by 24 where a terminal does not say
    look = {"leave": False, "ncols": size.columns - 1, "nrows": size.lines}
    return tqdm(desc=told, total=total, bar_format=FORMAT, **look)
