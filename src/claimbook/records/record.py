"""Records of experiments: how they are read, added to, merged and checked.

A *folder of records* has a folder for each paper with the files of its members, see
`member`. Where a function takes such a folder, None means that of the book.
"""

import io
import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from claimbook import project
from claimbook.digest import sha256
from claimbook.errors import NoRecord, RecordError
from claimbook.experiment import Arm, Experiment, Member, Result
from claimbook.records import member, validation
from claimbook.records.member import Meta

# What a member has measured: the epochs by the name of an observable, and by "rows",
# "weights kept as float32" (or another dtype) and "trace"
Measured = dict[str, set[Any]]

INDEX = "index.csv"  # in a folder of records: which file is which member
COLUMNS = ["experiment", "scale", "arm", "seed", "file", "digest"]  # of the index
EXPERIMENTS = "experiments.jsonl"  # there too: what was recorded, as plain data


@dataclass
class Record:
    """The recorded members of an experiment, under the names that its arms have today.

    ``frame`` has a row per member and logged epoch, with the columns ``arm``, ``seed``
    and ``epoch`` before those of the observables; a value that was not measured is NaN.
    ``members`` has the metadata of each member and ``paths`` the file of its rows, both
    by "arm|seed". ``book`` is the book's record of those arms that a reader trained
    here with other settings; it is None if there are none.
    """

    experiment: Experiment
    frame: pd.DataFrame
    members: dict[str, Meta]
    paths: dict[str, Path]
    book: "Record | None" = None

    @property
    def name(self) -> str:
        return self.experiment.name

    @property
    def scale(self) -> str:
        return self.experiment.scale

    @property
    def seconds(self) -> float:
        """The training time of all recorded members together; 0 without any."""
        return sum(meta["seconds"] for meta in self.members.values())

    @property
    def digest(self) -> str:
        """The SHA-256 of the members' digests in order, which cover all their files."""
        digests = "".join(meta["digest"] for meta in self.members.values())
        return sha256(digests.encode())

    def __len__(self) -> int:
        """Return how many members are recorded; a record without any is false."""
        return len(self.members)

    def seeds(self, arm: str) -> list[int]:
        """Return the seeds recorded for an arm, in the order of the experiment.

        An arm that is not in the experiment has none.
        """
        return [s for s in self.experiment.seeds if f"{arm}|{s}" in self.members]

    def series(self, arm: str, column: str) -> pd.DataFrame:
        """Return a column of one arm as a table: a row per epoch, a column per seed.

        Epochs at which no seed was measured are left out. A record has NaN both for a
        value that came out so and for one that was not measured. A NaN counts as
        measured if the column is due at that epoch and the training loss of some seed
        is NaN there too. The table of an arm that is not in the record is empty. Raises
        RecordError if the arm has no value while other arms have some, or if no arm has
        the column: the arm was trained before the experiment asked for it.
        """
        rows = self.frame[self.frame["arm"] == arm]
        # an empty series, in place of a column that no arm has, has no value anywhere
        is_value = self.frame.get(column, pd.Series()).notna()
        has_own_value = column in rows and is_value[rows.index].any()
        lacks_alone = len(rows) and is_value.any() and not has_own_value
        if column not in rows or lacks_alone:
            raise self._lacking_error(repr(column), arm)
        by_seed = rows.pivot(index="epoch", columns="seed", values=column)
        has_value = by_seed.notna().any(axis=1)  # by epoch
        nan_epochs = rows[rows["train_loss"].isna()].epoch
        if nan_epochs.empty:
            return by_seed[has_value]
        is_due = self._is_due_by_epoch(arm, has_value)
        is_measured_nan = by_seed.index.isin(nan_epochs) & is_due
        return by_seed[has_value | is_measured_nan]

    def _is_due_by_epoch(self, arm: str, has_value: pd.Series) -> pd.Series:
        """Return, by epoch, whether an arm measures a column at that epoch.

        The column itself tells it: ``has_value`` says by epoch whether it has a value
        there, of any seed. One with a value outside of the arm's rare epochs
        (`Arm.rarely`) is measured at every logged epoch, any other one at the rare
        epochs alone.
        """
        is_rare = has_value.index.isin(self.experiment.arm(arm).rare_epochs())
        if has_value[~is_rare].any():
            return pd.Series(True, index=has_value.index)
        return pd.Series(is_rare, index=has_value.index)

    def weights(self, arm: str, seed: int, epoch: int) -> dict[str, Any]:
        """Return the weights of one member at an epoch: tensors by parameter name.

        Raises RecordError if the member has no weights of that epoch.
        """
        from safetensors.torch import load_file

        path = self._side_file("weights", arm, seed)
        tensors = load_file(path) if path else {}
        prefix = f"{epoch}|"  # of the names "epoch|parameter" in the file
        weights = {
            name.removeprefix(prefix): tensor
            for name, tensor in tensors.items()
            if name.startswith(prefix)
        }
        if not weights:
            raise self._lacking_error(f"weights of seed {seed} at epoch {epoch}", arm)
        return weights

    def trace(self, arm: str) -> pd.DataFrame:
        """Return what one arm's steps minimised: a row per step, a column per seed.

        Row k is the loss with its penalties after k steps, on the rows that the next
        step takes. A seed that ended earlier has NaN from then on, and one without a
        trace has no column. Raises RecordError if no seed has one.
        """
        paths = {seed: self._side_file("trace", arm, seed) for seed in self.seeds(arm)}
        losses = {s: pd.read_parquet(path)["loss"] for s, path in paths.items() if path}
        if not losses:
            raise self._lacking_error("trace", arm)
        return pd.DataFrame(losses).rename_axis(index="step", columns="seed")

    def _side_file(self, kind: str, arm: str, seed: int) -> Path | None:
        """Return the file of a member's "weights" or "trace"; None if it has none.

        A member that is not in the record has none either.
        """
        name = f"{arm}|{seed}"
        meta = self.members.get(name, {})
        return member.side_files(self.paths[name], meta)[kind] if kind in meta else None

    def _lacking_error(self, what: str, arm: str) -> RecordError:
        """Return the error that says what an arm lacks and how to train it again.

        ``what`` is that in words.
        """
        return RecordError(
            f"{self.name} at {self.scale} scale has no {what} of arm {arm!r}: if the "
            f"experiment asks for it, `grokbook run {self.name} --scale {self.scale} "
            f'--arms "{arm}"` trains it anew'
        )


def load(experiment: Experiment, folder: Path | None = None) -> Record:
    """Return the record of an experiment from a folder of records.

    It has all members that have a file, complete or not (see `missing`). Each member's
    metadata get the entry "uncommitted": whether the code that trained it is in no
    commit. Raises NoRecord if no member is recorded, and RecordError if one is damaged.
    """
    tables = []  # of Arrow, the rows of one member each
    members, paths = {}, {}  # by "arm|seed"
    for arm, seed, path in _recorded_files(experiment, folder):
        rows, meta = member.table(path)
        # today's name, since the file may be that of another experiment
        rows = rows.add_column(0, "arm", [[arm.name] * len(rows)])
        tables.append(rows.add_column(1, "seed", [[seed] * len(rows)]))
        name = f"{arm.name}|{seed}"
        members[name] = meta | {"uncommitted": not _is_committed(meta)}
        paths[name] = path
    if not tables:
        raise NoRecord(
            f"{experiment.name} has no record at {experiment.scale} scale: run "
            f"`grokbook run {experiment.name} --scale {experiment.scale}`"
        )
    # a member without a column that others have gets NaN there
    joined = pa.concat_tables(tables, promote_options="permissive")
    frame = joined.to_pandas(ignore_metadata=True, use_threads=False)
    return Record(experiment, frame, members, paths)


def recorded(
    experiment: Experiment, folder: Path | None = None, *, whole: bool = False
) -> dict[str, Meta]:
    """Return the metadata of each recorded member, by "arm|seed".

    Without a recorded member it is {}. With ``whole`` all files are read and checked,
    else the metadata alone. Raises RecordError if what is read is damaged.
    """
    metadata = {}
    for arm, seed, path in _recorded_files(experiment, folder):
        if whole:
            _, meta = member.table(path)
        else:
            meta = member.metadata(path)
        metadata[f"{arm.name}|{seed}"] = meta
    return metadata


def recorded_arms(experiment: Experiment, folder: Path | None = None) -> set[str]:
    """Return the names of the arms with a recorded member, without opening a file."""
    return {arm.name for arm, *_ in _recorded_files(experiment, folder)}


def missing(experiment: Experiment, folder: Path | None = None) -> list[Member]:
    """Return the members (arm, seed) to train, in the order of the experiment.

    A member is missing if it has no file in the folder of records, or one that lacks a
    measurement that the arm asks for. Raises RecordError if a file is damaged.
    """
    complete = set()  # of (arm name, seed)
    for arm, seed, path in _recorded_files(experiment, folder):
        last_epoch, measured = _measured_in(path)
        # a member that stopped early has nothing after its last epoch
        epochs = (epoch for epoch in arm.logged_epochs() if epoch <= last_epoch)
        if _has_all(measured, _measured(arm.as_plain(), seed, epochs)):
            complete.add((arm.name, seed))
    members = experiment.members()
    return [(arm, seed) for arm, seed in members if (arm.name, seed) not in complete]


def add(experiment: Experiment, result: Result, folder: Path | None = None) -> None:
    """Store the result of one member in a folder of records.

    The result is written into the file that all experiments with this training share.
    If this experiment has a file of its own already, or if the shared one has something
    that the result lacks, the experiment's own file is written instead. What was in the
    file that is written is replaced. Raises RecordError if the shared file is damaged.
    """
    place = folder or project.records_folder()
    files = _possible_files(experiment, result.arm, result.seed)
    own, shared = (place / file for file in files)
    is_apart = own.exists() or (shared.exists() and not _covers(result, shared))
    member.put(member.file_contents(own if is_apart else shared, result))


def _covers(result: Result, path: Path) -> bool:
    """Return whether a result has all that the member recorded in a file has.

    Columns are compared as well as observables, since an observable may have made more
    of them when the file was written.
    """
    epochs = (row["epoch"] for row in result.rows)
    measured = _measured(result.arm.as_plain(), result.seed, epochs)
    columns = {column for row in result.rows for column in row}
    _, measured_before = _measured_in(path)
    has_all_columns = {*member.columns(path)} <= columns
    return has_all_columns and _has_all(measured, measured_before)


def merge(
    folders: Iterable[Path],
    experiments: Iterable[Experiment],
    into: Path,
    *,
    replace: bool = False,
    uncommitted: bool = False,
    dry_run: bool = False,
    stems: Callable[..., set[str]] | None = None,
) -> dict[str, list[Path]]:
    """Copy the members of other folders of records into the folder ``into``.

    Returns the files of their rows, relative to their folders, by what was done with
    the members: "added", "replaced", or "kept" if ``into`` has the member and it stays
    as it is. Members are replaced only with ``replace``, and only if the digests
    differ. If two folders have the same member, that of the first folder is taken.
    ``dry_run`` checks everything and copies nothing. With ``stems``, which is
    `observing.stems`, members are taken only as code of today leaves them.

    Raises RecordError, and copies nothing, if a folder has no members, or if a member
    is damaged, belongs to none of the ``experiments``, or would be taken though its
    code is in no commit; with ``uncommitted`` such members are taken too.
    """
    known = set[str]()  # files of members, as `_possible_files` names them
    for experiment in experiments:
        for arm, seed in experiment.members():
            known.update(_possible_files(experiment, arm, seed))
    by_outcome: dict[str, list[Path]] = {"added": [], "replaced": [], "kept": []}
    # by the file of the rows, relative to its folder; {} for a member that is kept
    copies: dict[Path, member.Files] = {}
    for folder in folders:
        paths = sorted(_row_files(folder))
        if not paths:
            raise RecordError(f"{folder} holds no <paper>/<key>-<seed>.parquet")
        for path in paths:
            relative = path.relative_to(folder)
            rows, meta = member.table(path)
            if relative.as_posix() not in known:
                who = f"arm {meta['arm']['name']!r}, seed {meta['seed']}"
                raise RecordError(f"{path} ({who}) is of no experiment of today")
            if relative in copies:  # of an earlier folder
                continue
            outcome = "added"
            if (into / relative).exists():
                _, present = member.table(into / relative)
                is_replaced = replace and present["digest"] != meta["digest"]
                outcome = "replaced" if is_replaced else "kept"
            by_outcome[outcome].append(relative)
            copies[relative] = {}
            if outcome == "kept":
                continue
            if not (uncommitted or _is_committed(meta)):
                raise RecordError(
                    f"{path} was trained by code that is in no commit, "
                    f"{meta['commit']}: `merge --uncommitted` takes it"
                )
            if stems and (fault := validation.newcomer_fault(rows, meta, stems)):
                raise member.record_error(path, fault)
            for file in (path, *member.side_files(path, meta).values()):
                target = into / file.relative_to(folder)
                copies[relative][target] = file.read_bytes()
    if not dry_run:
        for files in copies.values():
            member.put(files)
    return by_outcome


def _is_committed(meta: Meta) -> bool:
    """Return whether the code that trained a member is in a commit.

    "committed" of book/project.yaml lists the digests of code that was committed only
    after members had been trained with it.
    """
    is_changed = meta["commit"].endswith(("+", "unknown"))  # as `project.commit` says
    return not is_changed or meta.get("source") in project.part("committed")


def stale(experiments: Iterable[Experiment]) -> list[Path]:
    """Return the files of the book's records that none of the experiments reads.

    A stale file is of settings that no arm has any more, of a member that was trained
    anew since, or of no member at all.
    """
    used = {path for e in experiments for *_, path in _recorded_files(e)}
    present = project.records_folder().glob("[!.]*/*")  # without .checkpoints
    # a .part is of a process that may still be writing
    unread = {path for path in present if path.suffix != ".part"} - used
    # A file is called <key>-<seed>, then a dot and more; the side files of a member,
    # its weights and trace, share this stem with its rows. Only members with the stem
    # of an unread file are opened, as to open all takes seconds.
    unread_stems = {path.name.partition(".")[0] for path in unread}
    for path in used:
        if path.name.partition(".")[0] in unread_stems:
            unread.difference_update(
                member.side_files(path, member.metadata(path)).values()
            )
    return sorted(unread)


def orphans(stems: Collection[str]) -> dict[str, int]:
    """Return the stems of the book's recorded columns that are none of ``stems``.

    The result is {stem: number of members with such a column}, where the stem of a
    column is its name up to the first dot. Given the stems of today's observables
    (``observing.stems()``), it is what nobody can measure again.
    """
    counts = Counter[str]()
    for path in _row_files(project.records_folder()):
        columns = member.columns(path)
        counts.update({name.partition(".")[0] for name in columns} - {*stems, "epoch"})
    return dict(sorted(counts.items()))


def index(experiments: Iterable[Experiment]) -> str:
    """Return a CSV table that says which file is which member of which experiment.

    Its columns are experiment, scale, arm, seed, file ("<paper>/<name>") and the digest
    in the member's metadata. Experiments may share a file, which then stands in several
    rows. Raises RecordError for a file without metadata.
    """
    rows = []
    for experiment in experiments:
        for arm, seed, path in _recorded_files(experiment):
            file = f"{path.parent.name}/{path.name}"
            digest = member.metadata(path)["digest"]
            rows.append(
                [experiment.name, experiment.scale, arm.name, seed, file, digest]
            )
    return pd.DataFrame(rows, columns=COLUMNS).to_csv(index=False)


def experiments_as_lines(experiments: Iterable[Experiment]) -> str:
    """Return those experiments of which the book has a member, as lines of JSON."""
    with_members = [e for e in experiments if any(_recorded_files(e))]
    return "".join(json.dumps(each.as_plain()) + "\n" for each in with_members)


def write_index(experiments: Sequence[Experiment]) -> None:
    """Write `index` and `experiments_as_lines` into the folder of the book's records.

    Readers who run no code of the book find the records by these two files.
    """
    texts = {INDEX: index(experiments), EXPERIMENTS: experiments_as_lines(experiments)}
    for name, text in texts.items():
        with project.written_whole(project.records_folder() / name) as path:
            path.write_text(text, encoding="utf-8")


def read_index(folder: Path) -> pd.DataFrame:
    """Return the table of `index` that lies in a folder of records.

    Raises BookError, which names the file, if it is missing or not as `index` makes it.
    """
    path = folder / INDEX
    text = project.read_text(path)
    try:
        # the name of an arm may look like a number or like NaN
        table = pd.read_csv(
            io.StringIO(text), dtype={"arm": str}, keep_default_na=False
        )
    except ValueError:  # as those of the parser are
        table = pd.DataFrame()
    if list(table) != COLUMNS or table.to_csv(index=False) != text:
        raise _damaged_table(path)
    return table


def read_experiments(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the experiments in a folder of records as JSON data, by (name, scale).

    `experiments_as_lines` made them. Raises BookError, which names the file, if it is
    missing or damaged.
    """
    path = folder / EXPERIMENTS
    try:
        lines = project.read_json(path)  # a list, as the file is JSON lines
        return {(plain["name"], plain["scale"]): plain for plain in lines}
    except (KeyError, TypeError) as error:
        raise _damaged_table(path) from error


def _damaged_table(path: Path) -> RecordError:
    """Return the error for a table beside the records that is not as it was written."""
    return RecordError(
        f"{path} is not as it was written: take it from git again, or write it anew "
        "with `python -m book index`"
    )


def _row_files(folder: Path) -> list[Path]:
    """Return the files with the rows of members in a folder of records, in any order.

    It is empty if there is no such folder.
    """
    # "[!.]" leaves out .checkpoints
    return [f for f in folder.glob("[!.]*/*.parquet") if ".trace." not in f.name]


def _possible_files(experiment: Experiment, arm: Arm, seed: int) -> tuple[str, str]:
    """Return (the experiment's own file, the shared file) of a member's rows.

    A member may have either or both. The paths are relative to the folder of records.
    The own file exists only if the experiment trained again what others share, to
    measure something else; it is then read in place of the shared one.
    """
    paper, _, page = experiment.name.partition("/")
    stem = f"{paper}/{arm.training_key}-{seed}"
    return f"{stem}.{page}.parquet", f"{stem}.parquet"


def _recorded_files(
    experiment: Experiment, folder: Path | None = None
) -> Iterator[tuple[Arm, int, Path]]:
    """Yield (arm, seed, file of its rows) for every member that is recorded.

    Recorded is a member that has a file, complete or not (see `missing`). No file is
    opened for it. The members come in the order of the experiment; none does if there
    is no such folder.
    """
    place = folder or project.records_folder()
    paper = experiment.name.partition("/")[0]
    present = set[str]()  # to ask for each of 30,000 names costs seconds
    with suppress(FileNotFoundError):
        present = {f"{paper}/{file}" for file in os.listdir(place / paper)}
    for arm, seed in experiment.members():
        # the experiment's own file, or if there is none the shared one
        for file in _possible_files(experiment, arm, seed):
            if file in present:
                yield arm, seed, place / file
                break


def _measured_in(path: Path) -> tuple[int, Measured]:
    """Return the last epoch of a recorded member, and what it has `_measured`.

    ``path`` is the file of its rows.
    """
    rows, meta = member.table(path)
    epochs = rows["epoch"].to_pylist()
    return meta["epochs"], _measured(meta["arm"], meta["seed"], epochs)


def _measured(arm: Meta, seed: int, epochs: Iterable[float]) -> Measured:
    """Return what a member measures, to compare it with that of another.

    ``arm`` is the arm as plain data, ``epochs`` are those that the member logs. A
    member that stopped early measures its rare observables at its last epoch too,
    which is left out: one training with one seed always stops at the same epoch.
    """
    logged = {*epochs}
    interval, rare_observables = arm.get("rarely", (1, ()))
    rare = {
        epoch for epoch in logged if epoch % interval == 0 or epoch == arm["epochs"]
    }
    measured: Measured = dict.fromkeys(rare_observables, rare)
    # one that is measured rarely as well is measured at every log
    measured |= dict.fromkeys(arm.get("observables", Arm.observables), logged)
    measured["rows"] = logged  # without any observable, too
    if seed in arm.get("keep_seeds", [seed]):
        dtype = arm.get("keep_dtype") or arm.get("dtype", Arm.dtype)
        measured[f"weights kept as {dtype}"] = {*arm.get("keep", ())}
    if arm.get("trace"):
        measured["trace"] = {arm["epochs"]}  # a mark alone: a trace has every step
    return measured


def _has_all(measured: Measured, wanted: Measured) -> bool:
    """Return whether everything that is wanted is measured, at each of its epochs."""
    return all(epochs <= measured.get(name, set()) for name, epochs in wanted.items())
