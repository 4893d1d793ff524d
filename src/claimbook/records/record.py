"""A record: what one experiment reads of the store, and what it still lacks."""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from claimbook import project
from claimbook.errors import NoRecord, RecordError
from claimbook.experiment import Arm, Experiment, Member, Result
from claimbook.records import member
from claimbook.records.member import Meta


@dataclass
class Record:
    """The recorded members of an experiment, under the names that it has today.

    ``frame``: a row per member and logged epoch, with ``arm``, ``seed`` and ``epoch``.
    ``members``, what is known of each, and ``paths``, of its rows, are by "arm|seed".
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
        """(arm, seed) of members that nobody trained yet."""
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

    def __len__(self) -> int:
        """How many members are recorded: a record without any is false."""
        return len(self.members)

    def seeds(self, arm: str) -> list[int]:
        """Seeds recorded for an arm, in the order of the experiment."""
        return [s for s in self.experiment.seeds if f"{arm}|{s}" in self.members]

    def series(self, arm: str, column: str) -> pd.DataFrame:
        """Epochs down, one column per seed, of one observable of one arm.

        Epochs at which it was measured for no seed are left out. A NaN that a training
        was recorded through was measured, and stays. RecordError where the arm was
        trained before the experiment asked for it: others have it, or nobody.
        """
        mine = self.frame[self.frame["arm"] == arm]
        seen = self.frame.get(column, pd.Series()).notna()
        is_elsewhere = len(mine) and seen.any() and not seen[mine.index].any()
        if column not in mine or is_elsewhere:
            raise self._without(repr(column), arm)
        wide = mine.pivot(index="epoch", columns="seed", values=column)
        has_value = wide.notna().any(axis=1)
        was_lost = mine[mine["train_loss"].isna()].epoch
        is_nan = wide.index.isin(was_lost) & self._is_due(arm, has_value)
        return wide[has_value | is_nan]

    def _is_due(self, arm: str, has_value: pd.Series) -> pd.Series:
        """Whether a column that has values at some epochs is measured at an epoch.

        If all of these are epochs of ``rarely``, it is at those alone.
        """
        epochs = has_value.index
        if not len(epochs):
            return has_value
        is_rare = epochs.isin(self.experiment.arm(arm).rare_epochs())
        is_rarely_measured = not has_value[~is_rare].any()
        return has_value | is_rare if is_rarely_measured else has_value | True

    def weights(self, arm: str, seed: int, epoch: int) -> dict[str, Any]:
        """Kept parameters of one member; RecordError if that epoch was not kept."""
        from safetensors.torch import load_file

        path, start = self._kept("weights", arm, seed), f"{epoch}|"
        every = load_file(path) if path else {}
        found = {k.removeprefix(start): every[k] for k in every if k.startswith(start)}
        if not found:
            raise self._without(f"weights of seed {seed} at epoch {epoch}", arm)
        return found

    def trace(self, arm: str) -> pd.DataFrame:
        """The loss after k steps of one arm: k down, one column per seed.

        RecordError where no seed of the arm has a trace.
        """
        paths = {seed: self._kept("trace", arm, seed) for seed in self.seeds(arm)}
        found = {s: pd.read_parquet(path)["loss"] for s, path in paths.items() if path}
        if not found:
            raise self._without("trace", arm)
        return pd.DataFrame(found).rename_axis(index="step", columns="seed")

    def _kept(self, kind: str, arm: str, seed: int) -> Path | None:
        about = self.members.get(key := f"{arm}|{seed}", {})
        return member.beside(self.paths[key], about)[kind] if kind in about else None

    def _without(self, what: str, arm: str) -> RecordError:
        return RecordError(
            f"{self.name} at {self.scale} scale has no {what} of arm {arm!r}: if the "
            f"experiment asks for it, `grokbook run {self.name} --scale {self.scale} "
            f'--arms "{arm}"` trains it anew'
        )


def load(experiment: Experiment, folder: Path | None = None) -> Record:
    """The record of an experiment; NoRecord, or RecordError if a member is damaged.

    ``uncommitted`` of a member says whether src had changes that are in no commit.
    """
    frames, members, paths = [], {}, {}
    committed = project.described("committed")
    for arm, seed, path in _there(experiment, folder):
        rows, about = member.read(path)
        rows.insert(0, "arm", arm.name)
        rows.insert(1, "seed", seed)
        frames.append(rows)
        changed = about["commit"].endswith("+")
        about["uncommitted"] = changed and about.get("source") not in committed
        members[f"{arm.name}|{seed}"], paths[f"{arm.name}|{seed}"] = about, path
    if not frames:
        raise NoRecord(
            f"{experiment.name} has no record at {experiment.scale} scale: run "
            f"`grokbook run {experiment.name} --scale {experiment.scale}`"
        )
    return Record(experiment, pd.concat(frames, ignore_index=True), members, paths)


def recorded(experiment: Experiment, folder: Path | None = None) -> dict[str, Meta]:
    """The metadata alone of each member that is there, by "arm|seed"."""
    there = _there(experiment, folder)
    return {f"{arm.name}|{seed}": member.metadata(path) for arm, seed, path in there}


def missing(experiment: Experiment, folder: Path | None = None) -> list[Member]:
    """Members (arm, seed) to train: without a file, or with one that lacks a look."""
    whole = set()
    for arm, seed, path in _there(experiment, folder):
        last, seen = _seen_in(path)
        asked = (epoch for epoch in arm.logged_epochs() if epoch <= last)
        if _seen(arm.to_json(), seed, asked) <= seen:
            whole.add((arm.name, seed))
    return [one for one in experiment.members() if (one[0].name, one[1]) not in whole]


def add(experiment: Experiment, one: Result, folder: Path | None = None) -> None:
    """Store a member; in place of what others share only if it shows all they see."""
    path, shared = _places(experiment, one.arm, one.seed, folder)
    if not path.exists() and (not shared.exists() or _shows_all_of(shared, one)):
        path = shared
    member.put(member.made(path, one))


def _shows_all_of(path: Path, one: Result) -> bool:
    """Whether a new member shows all that a recorded one does, column by column: an
    observable may have made more in its day."""
    now = _seen(one.arm.to_json(), one.seed, (row["epoch"] for row in one.rows))
    columns = {column for row in one.rows for column in row}
    return _seen_in(path)[1] <= now and {*member.columns(path)} <= columns


def merge(
    folders: Iterable[Path],
    experiments: Iterable[Experiment],
    into: Path,
    *,
    replace: bool = False,
    dry_run: bool = False,
) -> dict[str, list[Path]]:
    """Copy members from elsewhere; which were "added", "replaced" and "kept" as is.

    Of two that are offered the first is taken. ``dry_run``: only check. RecordError,
    and nothing is copied, for one that is damaged or of none of these ``experiments``.
    """
    every = ((e, arm, seed) for e in experiments for arm, seed in e.members())
    known = {place for one in every for place in _places(*one, Path())}
    done: dict[str, list[Path]] = {"added": [], "replaced": [], "kept": []}
    copies: dict[Path, member.Files] = {}
    for folder in folders:
        rows = [f for f in folder.glob("[!.]*/*.parquet") if ".trace." not in f.name]
        if not rows:
            raise RecordError(f"{folder} holds no <paper>/<key>-<seed>.parquet")
        for path in sorted(rows):
            place, about = path.relative_to(folder), member.read(path)[1]
            if place not in known:
                who = f"arm {about['arm']['name']!r}, seed {about['seed']}"
                raise RecordError(f"{path} ({who}) is of no experiment of today")
            if place in copies:
                continue
            there = (into / place).exists() and member.read(into / place)[1]["digest"]
            is_taken = not there or (replace and there != about["digest"])
            files = (path, *member.beside(path, about).values()) if is_taken else ()
            new = {into / f.relative_to(folder): f.read_bytes() for f in files}
            copies[place] = new
            what = "added" if not there else "replaced" if is_taken else "kept"
            done[what].append(place)
    for content in () if dry_run else copies.values():
        member.put(content)
    return done


def stale(experiments: Iterable[Experiment], folder: Path | None = None) -> list[Path]:
    """Files that no arm of today reads: of other settings, or replaced since."""
    used = {path for one in experiments for *_, path in _there(one, folder)}
    sides = (member.beside(path, member.metadata(path)).values() for path in used)
    every = (folder or project.records_folder()).glob("[!.]*/*")
    files = {path for path in every if path.suffix != ".part"}
    return sorted(files - used - {file for files in sides for file in files})


def orphans(stems: Collection[str], folder: Path | None = None) -> dict[str, int]:
    """Stems of recorded columns that are none of ``stems``, and in how many members.

    Given those of today's observables (``observables.stems()``), these are what nobody
    can measure again. The stem of a column is what comes before its first dot.
    """
    members = (folder or project.records_folder()).glob("[!.]*/*.parquet")
    counts = Counter[str]()
    for path in members:
        if ".trace." not in path.name:
            found = {column.partition(".")[0] for column in member.columns(path)}
            counts.update(found - {*stems, "epoch"})
    return dict(sorted(counts.items()))


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


def _places(
    experiment: Experiment, arm: Arm, seed: int, folder: Path | None
) -> tuple[Path, Path]:
    """Files of a member: this experiment's own, which goes before, and the shared one.

    The first is there where it trained anew what others share, to look elsewhere.
    """
    paper, _, page = experiment.name.partition("/")
    stem = (folder or project.records_folder()) / paper / f"{arm.training_key()}-{seed}"
    return Path(f"{stem}.{page}.parquet"), Path(f"{stem}.parquet")


def _there(
    experiment: Experiment, folder: Path | None
) -> Iterator[tuple[Arm, int, Path]]:
    """(arm, seed, file) of every member that is recorded."""
    for arm, seed in experiment.members():
        own, shared = _places(experiment, arm, seed, folder)
        if own.exists() or shared.exists():
            yield arm, seed, own if own.exists() else shared


def _seen_in(path: Path) -> tuple[int, set[Any]]:
    """The last epoch of a member, and all that it shows."""
    rows, about = member.read(path)
    return about["epochs"], _seen(about["arm"], about["seed"], rows["epoch"])


def _seen(plain: Meta, seed: int, epochs: Iterable[float]) -> set[Any]:
    """What an arm, as JSON, shows of a seed: epochs, observables, weights, trace."""
    kept = plain.get("keep", []) if seed in plain.get("keep_seeds", [seed]) else []
    observables = plain.get("observables", Arm.observables)
    looks = {*observables, *plain.get("rarely", [0, []])[1], *(f"|{e}" for e in kept)}
    return {*epochs, *looks, *(["trace"] if plain.get("trace") else [])}
