"""A record: what one experiment reads of the store, and what it still lacks."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from grokbook import project
from grokbook.errors import NoRecord, RecordError
from grokbook.experiment import Arm, Experiment, Member, Result
from grokbook.records import member
from grokbook.records.member import Meta

if TYPE_CHECKING:
    from torch import Tensor


@dataclass
class Record:
    """The recorded members of an experiment, under the names that it has today.

    ``frame``: one row per member and logged epoch, with the columns ``arm``, ``seed``
    and ``epoch``. ``members``, what is known of each, and ``paths``, where its rows
    lie, are by "arm|seed", in the order of the experiment.
    """

    experiment: Experiment
    frame: pd.DataFrame
    members: dict[str, Meta]
    paths: dict[str, Path]

    @property
    def name(self) -> str:
        return self.experiment.name

    @property
    def scale(self) -> str:
        return self.experiment.scale

    @property
    def missing(self) -> list[tuple[str, int]]:
        """(arm, seed) of members that the experiment names and nobody trained yet."""
        every = [(arm.name, seed) for arm, seed in self.experiment.members()]
        return [(a, s) for a, s in every if f"{a}|{s}" not in self.members]

    @property
    def seconds(self) -> float:
        """Training time of all members, added up."""
        return sum(about["seconds"] for about in self.members.values())

    @property
    def digest(self) -> str:
        """SHA-256 of the digests of its members, which cover all of their files."""
        told = "".join(about["digest"] for about in self.members.values())
        return hashlib.sha256(told.encode()).hexdigest()

    @property
    def files(self) -> list[Path]:
        """All files of its members."""
        pairs = zip(self.paths.values(), self.members.values(), strict=True)
        return [f for p, about in pairs for f in (p, *member.beside(p, about).values())]

    def __len__(self) -> int:
        """How many members are recorded: a record without any is false."""
        return len(self.members)

    def seeds(self, arm: str) -> list[int]:
        """Seeds recorded for an arm, in the order of the experiment."""
        return [s for s in self.experiment.seeds if f"{arm}|{s}" in self.members]

    def series(self, arm: str, column: str) -> pd.DataFrame:
        """Epochs down, one column per seed, of one observable of one arm.

        Epochs at which it was measured for no seed are left out. RecordError where the
        record lacks it, for all arms or for this one: it was trained before the
        experiment asked for it.
        """
        mine = self.frame[self.frame["arm"] == arm]
        there = column in mine and (mine[column].notna().any() or not len(mine))
        if not there and (column not in mine or self.frame[column].notna().any()):
            raise self._without(repr(column), arm)
        wide = mine.pivot(index="epoch", columns="seed", values=column)
        return wide.dropna(how="all")

    def weights(self, arm: str, seed: int, epoch: int) -> "dict[str, Tensor]":
        """Kept parameters of one member; RecordError if that epoch was not kept."""
        key, start = f"{arm}|{seed}", f"{epoch}|"
        there = key in self.members
        kept = member.weights(self.paths[key], self.members[key]) if there else {}
        found = {
            k.removeprefix(start): w for k, w in kept.items() if k.startswith(start)
        }
        if not found:
            raise self._without(f"weights of seed {seed} at epoch {epoch}", arm)
        return found

    def trace(self, arm: str) -> pd.DataFrame:
        """The loss of every step of one arm: steps down, one column per seed.

        Step k is the loss that the optimizer saw after k steps. RecordError where no
        seed of the arm has a trace.
        """
        keys = {seed: f"{arm}|{seed}" for seed in self.seeds(arm)}
        kept = {
            s: member.trace(self.paths[k], self.members[k]) for s, k in keys.items()
        }
        found = {seed: losses for seed, losses in kept.items() if losses is not None}
        if not found:
            raise self._without("trace", arm)
        return pd.DataFrame(found).rename_axis(index="step", columns="seed")

    def _without(self, what: str, arm: str) -> RecordError:
        return RecordError(
            f"{self.name} at {self.scale} scale has no {what} of arm {arm!r}: if the "
            f"experiment asks for it, `grokbook run {self.name} --scale {self.scale} "
            f'--arms "{arm}"` trains it anew'
        )


def root() -> Path:
    """Folder of the records: GROKBOOK_RECORDS if set, else data/records."""
    return project.records_folder()


def load(experiment: Experiment, folder: Path | None = None) -> Record:
    """The record of an experiment; NoRecord, or RecordError if a member is damaged."""
    frames, members, paths = [], {}, {}
    for arm, seed, path in _there(experiment, folder):
        rows, about = member.read(path)
        rows.insert(0, "arm", arm.name)
        rows.insert(1, "seed", seed)
        frames.append(rows)
        members[f"{arm.name}|{seed}"], paths[f"{arm.name}|{seed}"] = about, path
    if not frames:
        raise NoRecord(
            f"{experiment.name} has no record at {experiment.scale} scale: run "
            f"`grokbook run {experiment.name} --scale {experiment.scale}`"
        )
    return Record(experiment, pd.concat(frames, ignore_index=True), members, paths)


def recorded(experiment: Experiment, folder: Path | None = None) -> dict[str, Meta]:
    """What the metadata tell of each member that is there, by "arm|seed"."""
    there = _there(experiment, folder)
    return {f"{arm.name}|{seed}": member.metadata(path) for arm, seed, path in there}


def missing(experiment: Experiment, folder: Path | None = None) -> list[Member]:
    """Members (arm, seed) to train: without a file, or with one that lacks a look."""
    whole = set()
    for arm, seed, path in _there(experiment, folder):
        rows, about = member.read(path)
        asked = (epoch for epoch in arm.logged_epochs() if epoch <= about["epochs"])
        if _seen(arm.to_json(), seed, asked) <= _seen(about["arm"], seed, rows.epoch):
            whole.add((arm.name, seed))
    return [one for one in experiment.members() if (one[0].name, one[1]) not in whole]


def add(
    experiment: Experiment, results: Iterable[Result], folder: Path | None = None
) -> None:
    """Put finished members into the store.

    RecordError, and nothing is written, for a result that is none of this experiment's
    or where there is no room.
    """
    every = places(experiment, folder or root())
    known = {(arm.training_key(), arm.name, seed): files for arm, seed, files in every}
    new = []
    for result in results:
        arm, seed = result.arm, result.seed
        if (key := (arm.training_key(), arm.name, seed)) not in known:
            raise RecordError(
                f"arm {arm.name!r} with these settings, seed {seed}, is no member of "
                f"{experiment.name} at {experiment.scale} scale"
            )
        own, shared = known[key]
        apart = own.exists() or (shared.exists() and not _covers(result, shared))
        new.append(member.made(own if apart else shared, result))
    member.put(new)


def stale(experiments: Iterable[Experiment], folder: Path | None = None) -> list[Path]:
    """Files that no arm of today reads: of other settings, or replaced since."""
    used = {path for one in experiments for *_, path in _there(one, folder)}
    sides = (member.beside(path, member.metadata(path)).values() for path in used)
    every = (p for p in (folder or root()).glob("[!.]*/*") if p.suffix != ".part")
    return sorted(set(every) - used - {file for files in sides for file in files})


def index(experiments: Iterable[Experiment], folder: Path | None = None) -> str:
    """Which file is which member of which experiment, as a CSV table."""
    rows = [
        [one.name, one.scale, arm.name, seed, f"{path.parent.name}/{path.name}"]
        + [member.metadata(path)["digest"]]
        for one in experiments
        for arm, seed, path in _there(one, folder)
    ]
    columns = ["experiment", "scale", "arm", "seed", "file", "digest"]
    return pd.DataFrame(rows, columns=columns).to_csv(index=False)


def places(
    experiment: Experiment, folder: Path
) -> Iterator[tuple[Arm, int, tuple[Path, Path]]]:
    """(arm, seed, files) of every member: of this experiment alone, and shared.

    The first is for an experiment that trained the same anew, as it looks elsewhere or
    runs on another device, and goes before the second.
    """
    paper, _, page = experiment.name.partition("/")
    keys = {arm.name: arm.training_key() for arm in experiment.arms}
    for arm, seed in experiment.members():
        stem = folder / paper / f"{keys[arm.name]}-{seed}"
        yield arm, seed, (Path(f"{stem}.{page}.parquet"), Path(f"{stem}.parquet"))


def _there(
    experiment: Experiment, folder: Path | None
) -> Iterator[tuple[Arm, int, Path]]:
    """(arm, seed, file) of every member that is recorded."""
    for arm, seed, every in places(experiment, folder or root()):
        if path := next((path for path in every if path.exists()), None):
            yield arm, seed, path


def _seen(plain: Meta, seed: int, epochs: Iterable[float]) -> set[Any]:
    """What an arm, as JSON, shows of a seed: epochs, observables, weights, trace."""
    kept = plain.get("keep", []) if seed in plain.get("keep_seeds", [seed]) else []
    observables = plain.get("observables", Arm.observables)
    looks = {*observables, *plain.get("rarely", [0, []])[1], *(f"|{e}" for e in kept)}
    return {*epochs, *looks, *(["trace"] if plain.get("trace") else [])}


def _covers(result: Result, path: Path) -> bool:
    """Whether a result shows all that a file does, and may take its place."""
    rows, about = member.read(path)
    now = _seen(result.arm.to_json(), result.seed, (r["epoch"] for r in result.rows))
    return _seen(about["arm"], result.seed, rows["epoch"]) <= now
