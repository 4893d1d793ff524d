"""A record as a page reads it, and what it still lacks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from grokbook import project
from grokbook.errors import NoRecord, RecordError
from grokbook.experiment import Arm, Experiment
from grokbook.records import table
from grokbook.records.beside import STATES, TRACES, WEIGHTS, Side
from grokbook.records.fit import changed, fit
from grokbook.records.table import Meta, member, spoken

if TYPE_CHECKING:
    from torch import Tensor


def root() -> Path:
    """Folder of the records: GROKBOOK_RECORDS if set, else data/records."""
    return project.records_folder()


def path_of(name: str, scale: str, folder: Path | None = None) -> Path:
    """Where a record lies: <folder>/<paper>/<name>.<scale>.parquet."""
    return (folder or root()) / f"{name}.{scale}.parquet"


def trace_path(name: str, scale: str, folder: Path | None = None) -> Path:
    """Where the loss of every step lies, for an experiment that keeps it."""
    return TRACES.path(path_of(name, scale, folder))


def states_path(name: str, scale: str, folder: Path | None = None) -> Path:
    """Where states to replay from lie, for an experiment that keeps them."""
    return STATES.path(path_of(name, scale, folder))


@dataclass
class Record:
    """One table with the experiment it belongs to, as the code has it today.

    ``renamed``: what the files call a member, for those that have another name today.
    """

    path: Path
    experiment: Experiment
    frame: pd.DataFrame
    meta: Meta
    renamed: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.experiment.name

    @property
    def scale(self) -> str:
        return self.experiment.scale

    @property
    def members(self) -> dict[str, Meta]:
        """What is known of each recorded member, by "arm|seed"."""
        return self.meta["members"]

    @property
    def missing(self) -> list[tuple[str, int]]:
        """(arm, seed) of members that the experiment names and nobody trained yet."""
        return [
            (arm.name, seed)
            for arm, seed in self.experiment.members()
            if member(arm.name, seed) not in self.members
        ]

    @property
    def seconds(self) -> float:
        """Training time of all members, added up."""
        return sum(about["seconds"] for about in self.members.values())

    def __len__(self) -> int:
        """How many members are recorded: a record without any is false."""
        return len(self.members)

    def seeds(self, arm: str) -> list[int]:
        """Seeds recorded for an arm, in the order of the experiment."""
        return [s for s in self.experiment.seeds if member(arm, s) in self.members]

    def series(self, arm: str, column: str) -> pd.DataFrame:
        """Epochs down, one column per seed, of one observable of one arm.

        Epochs at which it was measured for no seed are left out. RecordError where the
        record lacks it, for all arms or for this one: it was trained before the
        experiment asked for it.
        """
        mine = self.frame[self.frame["arm"] == arm]
        if column not in mine or (len(mine) and self._lacks(mine[column])):
            raise RecordError(
                f"{self.path} has no {column!r} of arm {arm!r}: if the experiment "
                f"observes it, `{self._again(arm)}` trains it anew"
            )
        wide = mine.pivot(index="epoch", columns="seed", values=column)
        return wide.dropna(how="all")

    def weights(self, arm: str, seed: int, epoch: int) -> "dict[str, Tensor]":
        """Kept parameters of one member; RecordError if that epoch was not kept."""
        prefix = f"{epoch}|"
        found = {
            key.removeprefix(prefix): value
            for key, value in self.beside(WEIGHTS).get(member(arm, seed), {}).items()
            if key.startswith(prefix)
        }
        if not found:
            raise RecordError(
                f"{self.name} at {self.scale} scale keeps no weights of arm {arm!r}, "
                f"seed {seed}, epoch {epoch}"
            )
        return found

    def trace(self, arm: str) -> pd.DataFrame:
        """The loss of every step of one arm: steps down, one column per seed.

        Step k is the loss that the optimizer saw after k steps. RecordError where no
        seed of the arm has a trace.
        """
        kept = self.beside(TRACES)
        found = {
            seed: pd.Series(kept[member(arm, seed)])
            for seed in self.seeds(arm)
            if member(arm, seed) in kept
        }
        if not found:
            raise RecordError(
                f"{self.name} at {self.scale} scale keeps no trace of arm {arm!r}: if "
                f"the experiment asks for one, `{self._again(arm)}` trains it anew"
            )
        return pd.DataFrame(found).rename_axis(index="step", columns="seed")

    def states(self, arm: str, seed: int) -> dict[int, Any]:
        """The states of one member from which training can be replayed, by epoch."""
        return self.beside(STATES).get(member(arm, seed), {})

    def beside(self, side: Side) -> dict[str, Any]:
        """What a file beside the table holds of each member; RecordError if damaged."""
        if side.name not in self._sides:
            found = side.read(self.path)
            names = {key: self.renamed.get(key, key) for key in self.members}
            mine = {key: found[name] for key, name in names.items() if name in found}
            if side is TRACES:
                self._check_steps(mine)
            self._sides[side.name] = mine
        return self._sides[side.name]

    @cached_property
    def _sides(self) -> dict[str, dict[str, Any]]:
        return {}

    def _check_steps(self, traces: Mapping[str, np.ndarray]) -> None:
        for key, about in self.members.items():
            there, steps = len(traces.get(key, ())), about.get("steps", 0)
            if there != steps:
                raise RecordError(
                    f"{TRACES.path(self.path)} has {there} steps of {spoken(key)}, "
                    f"where {steps} were recorded: {table.RENEW}"
                )

    def _lacks(self, values: pd.Series) -> bool:
        """Whether other arms have a column that an arm has not."""
        return values.isna().all() and self.frame[values.name].notna().any()

    def _again(self, arm: str) -> str:
        again = (
            f'grokbook run {self.name} --scale {self.scale} --arms "{arm}" --replace'
        )
        is_book = self.path == path_of(self.name, self.scale)
        return f"{again} --record" if is_book else again


def load(experiment: Experiment, folder: Path | None = None) -> Record:
    """The record of an experiment; NoRecord, or RecordError if damaged or stale."""
    path = path_of(experiment.name, experiment.scale, folder)
    into = "" if folder else " --record"
    rerun = f"run `grokbook run {experiment.name} --scale {experiment.scale}{into}`"
    if not path.exists():
        raise NoRecord(
            f"{experiment.name} has no record at {experiment.scale} scale: {rerun}"
        )
    frame, meta = table.read(path)
    fits = fit(experiment, meta["members"])
    for key in meta["members"]:
        if key not in fits:
            raise RecordError(
                f"{path.name} is stale, {changed(experiment, meta, key)}: {rerun} to "
                "renew it"
            )
    return today(experiment, path, frame, meta, fits)


def today(
    experiment: Experiment,
    path: Path,
    frame: pd.DataFrame,
    meta: Meta,
    fits: Mapping[str, str],
) -> Record:
    """A record that was read, under today's names; ``fits`` has all of its members."""
    renamed = {now: key for key, now in fits.items() if now != key}
    if renamed:
        frame = table.rename(frame, fits)
        members = {fits[key]: about for key, about in meta["members"].items()}
        meta = meta | {"members": members}
    return Record(path, experiment, frame, meta, renamed)


def recorded(experiment: Experiment, folder: Path | None = None) -> dict[str, Meta]:
    """What is told of each member that is up to date, by "arm|seed"; {} without any."""
    path = path_of(experiment.name, experiment.scale, folder)
    done = table.read(path)[1]["members"] if path.exists() else {}
    return {now: done[key] for key, now in fit(experiment, done).items()}


def missing(
    experiment: Experiment, folder: Path | None = None
) -> list[tuple[Arm, int]]:
    """Members (arm, seed) that still have to be trained, stale ones among them."""
    fresh = recorded(experiment, folder)
    return [
        (arm, seed)
        for arm, seed in experiment.members()
        if member(arm.name, seed) not in fresh
    ]


def matmul(path: Path) -> str | None:
    """The matmul library that the CPU members of a record share.

    None where there is no record or no such member, or where they differ.
    """
    members = table.metadata(path)["members"] if path.exists() else {}
    named = {about.get("matmul") for about in members.values() if on_cpu(about)}
    return named.pop() if len(named) == 1 else None


def on_cpu(about: Meta) -> bool:
    """Whether a member was trained on a CPU, where there are libraries to choose."""
    return about.get("device") == "cpu"
