"""The table of a record: a tidy Parquet file that can be checked against itself.

One row per member and look: columns ``arm``, ``seed``, ``epoch`` and the observables; a
member's rows stand together, by ascending epoch. The metadata, JSON under the key
``grokbook``, hold the ``format``, the ``experiment`` as it was, and of every member (by
"arm|seed") its training key, how many rows it has, a digest of them, and what it was
trained on and with.

Format 1 had a hash of all settings in place of the training key, and no digest. It is
checked by that hash and by the epochs that its settings log, and read as format 2.
"""

import hashlib
import json
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from grokbook.errors import RecordError
from grokbook.experiment import Arm

FORMAT = 2
RENEW = "take it from git again, or delete it and run its experiment anew"

Meta = dict[str, Any]
# What is read of a member's metadata, by the type that it must have.
_ALWAYS: dict[str, tuple[type, ...]] = {
    "epochs": (int,),
    "seconds": (int, float),
    "epochs_per_second": (int, float),
    "commit": (str,),
    "finished": (str,),
}
_MEMBER = {
    1: _ALWAYS | {"hash": (str,)},
    2: _ALWAYS | {"training_key": (str,), "rows": (int,), "digest": (str,)},
}
# What reading metadata that somebody damaged may raise.
_WRONG = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)


def member(arm: str, seed: int) -> str:
    """The key of a member in the files of a record."""
    return f"{arm}|{seed}"


def parts(key: str) -> tuple[str, int]:
    """The (arm, seed) of a member's key; ValueError if it is none."""
    arm, _, seed = key.rpartition("|")
    return arm, int(seed)


def spoken(key: str) -> str:
    """A member's key as a message names it."""
    arm, seed = parts(key)
    return f"arm {arm!r}, seed {seed}"


def read(path: Path) -> tuple[pd.DataFrame, Meta]:
    """Rows and metadata, in the newest format; RecordError if anything is amiss."""
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            table = file.read()
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path) from error
    meta = _metadata(path, table.schema)
    frame, values = _frame(path, table)
    found = _check_rows(path, frame, values, meta["members"])
    if meta["format"] == 1:
        _upgrade(path, meta, found)
    for key, about in meta["members"].items():
        if about["digest"] != found[key].digest:
            raise RecordError(
                f"{path}: the rows of {spoken(key)} are not those that were recorded: "
                f"{RENEW}"
            )
    return frame, meta


def metadata(path: Path) -> Meta:
    """The metadata alone, as they stand in the file, without a look at the rows."""
    try:
        schema = pq.read_schema(path)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path) from error
    return _metadata(path, schema)


def write(frame: pd.DataFrame, meta: Meta, path: Path) -> None:
    """Write a table at exactly this path; OSError or ArrowException if that fails."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    told = dict(table.schema.metadata) | {b"grokbook": json.dumps(meta).encode()}
    table = table.replace_schema_metadata(told)
    pq.write_table(table, path, compression="zstd", write_page_checksum=True)


def of_members(frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Each member's key and rows, in the order of the table."""
    for key, start, stop in _stretches(frame):
        yield key, frame.iloc[start:stop]


def rename(frame: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """The table with each member's arm called as in its new key."""
    arms: list[str] = []
    for key, start, stop in _stretches(frame):
        arms += [parts(names[key])[0]] * (stop - start)
    return frame.assign(arm=arms)


def seal(rows: pd.DataFrame) -> Meta:
    """What the metadata say of one member's rows: their number and their digest.

    The digest is of the values, whatever the order of the columns, and leaves out
    those that were never measured: another member may add a column.
    """
    return {"rows": len(rows), "digest": _digest(_numbers(rows), _observables(rows))}


def _stretches(frame: pd.DataFrame) -> Iterator[tuple[str, int, int]]:
    """Runs of rows that share arm and seed: (key, first row, row after the last)."""
    arms, seeds = frame["arm"].to_numpy(), frame["seed"].to_numpy()
    change = (arms[1:] != arms[:-1]) | (seeds[1:] != seeds[:-1])
    for start, stop in pairwise([0, *(np.flatnonzero(change) + 1), len(frame)]):
        if stop > start:
            yield member(arms[start], seeds[start]), start, stop


def _observables(frame: pd.DataFrame) -> list[str]:
    return [name for name in frame.columns if name not in ("arm", "seed")]


def _numbers(frame: pd.DataFrame) -> np.ndarray:
    """All but arm and seed as little-endian float64, one bit pattern for every NaN."""
    values = frame[_observables(frame)].to_numpy("<f8", copy=True)
    values[np.isnan(values)] = np.nan
    return values


def _digest(values: np.ndarray, names: list[str]) -> str:
    """SHA-256 of the columns that were measured, by name."""
    measured = np.flatnonzero(~np.isnan(values).all(axis=0))
    order = sorted(measured, key=lambda column: names[column])
    digest = hashlib.sha256(json.dumps([names[column] for column in order]).encode())
    digest.update(values[:, order].tobytes())
    return digest.hexdigest()[:16]


def _unreadable(path: Path) -> RecordError:
    return RecordError(
        f"{path} cannot be read as a record, it may be truncated: delete it (or take "
        "it from git again) and run its experiment anew"
    )


def _metadata(path: Path, schema: pa.Schema) -> Meta:
    """The metadata, checked for all that is read of them."""
    text = (schema.metadata or {}).get(b"grokbook")
    if text is None or not {"arm", "seed", "epoch"} <= set(schema.names):
        raise RecordError(
            f"{path} was not written by grokbook: move it out of the records folder"
        )
    try:
        meta = json.loads(text)
        known = meta["format"] in _MEMBER
        if known:
            _check_metadata(meta)
    except _WRONG as error:
        raise RecordError(
            f"{path} has damaged metadata ({error!r}): {RENEW}"
        ) from error
    if not known:
        raise RecordError(
            f"{path} is of format {meta['format']!r}, and this version reads 1 "
            f"and {FORMAT}: update the code, or move the record away"
        )
    return meta


def _check_metadata(meta: Meta) -> None:
    """An error of look-up, type or value for what cannot be used."""
    experiment = meta["experiment"]
    for text in (experiment["scale"], *(arm["name"] for arm in experiment["arms"])):
        if not isinstance(text, str):
            raise TypeError(f"a scale or an arm is called {text!r}")
    if not isinstance(experiment["name"], str):
        raise TypeError(f"the experiment is called {experiment['name']!r}")
    for key, about in meta["members"].items():
        parts(key)
        for name, kinds in _MEMBER[meta["format"]].items():
            if not isinstance(about[name], kinds) or isinstance(about[name], bool):
                raise TypeError(f"{name} of {key} is {about[name]!r}")
        if not math.isfinite(about["seconds"] + about["epochs_per_second"]):
            raise ValueError(f"{key} took {about['seconds']!r} seconds")


def _frame(path: Path, table: pa.Table) -> tuple[pd.DataFrame, np.ndarray]:
    """The rows, and their numbers; RecordError for a column of the wrong kind."""
    try:
        frame = table.to_pandas(ignore_metadata=True)
        if not frame.columns.is_unique:
            raise TypeError("two share a name")
        text, number = frame["arm"].dtype.kind, frame["seed"].dtype.kind
        if text not in "OU" or number not in "iu":
            raise TypeError(f"arm is {frame['arm'].dtype}, seed {frame['seed'].dtype}")
        return frame, _numbers(frame)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise RecordError(
            f"{path} has columns of the wrong kind ({error}): {RENEW}"
        ) from error


@dataclass(frozen=True)
class _Rows:
    """What the rows of one member say of themselves."""

    epochs: np.ndarray
    digest: str


def _check_rows(
    path: Path, frame: pd.DataFrame, values: np.ndarray, members: Mapping[str, Meta]
) -> dict[str, _Rows]:
    """What there is of every member; RecordError if it is not what was recorded."""
    names = _observables(frame)
    epochs = values[:, names.index("epoch")]
    found: dict[str, _Rows] = {}
    for key, start, stop in _stretches(frame):
        if problem := _problem(key, epochs[start:stop], members.get(key), found):
            raise RecordError(f"{path} {problem}: {RENEW}")
        digest = _digest(values[start:stop], names)
        found[key] = _Rows(epochs[start:stop], digest)
    for key in members:
        if key not in found:
            raise RecordError(f"{path} lists {spoken(key)} without a row: {RENEW}")
    return found


def _problem(
    key: str, epochs: np.ndarray, about: Meta | None, found: Collection[str]
) -> str:
    """What is wrong with a stretch of rows of one member, or ""."""
    who, there = spoken(key), len(epochs)
    if about is None:
        return f"has rows of {who}, which its metadata do not list"
    if key in found:
        return f"has rows of {who} in two places"
    if about.get("rows", there) != there:
        return f"has {there} rows of {who}, where {about['rows']} were recorded"
    if not (np.diff(epochs) > 0).all() or epochs[-1] != about["epochs"]:
        return f"has epochs of {who} that do not ascend to its last, {about['epochs']}"
    return ""


def _upgrade(path: Path, meta: Meta, found: Mapping[str, _Rows]) -> None:
    """Make the metadata of format 1 those of format 2, in place."""
    arms = {plain["name"]: plain for plain in meta["experiment"]["arms"]}
    for key, about in meta["members"].items():
        arm = _recorded_arm(path, key, arms.get(parts(key)[0]), about["hash"])
        epochs = found[key].epochs.tolist()
        if epochs != [epoch for epoch in arm.logged_epochs() if epoch <= epochs[-1]]:
            raise RecordError(
                f"{path} has other epochs of {spoken(key)} than its settings log: "
                f"{RENEW}"
            )
        told = {name: value for name, value in about.items() if name != "hash"}
        told |= {"training_key": arm.training_key()}
        meta["members"][key] = told | {"rows": len(epochs), "digest": found[key].digest}
    meta["format"] = FORMAT


def _recorded_arm(path: Path, key: str, plain: Meta | None, identity: str) -> Arm:
    """The arm that a record of format 1 was made with, checked by its hash."""
    text = json.dumps(plain, sort_keys=True)  # all settings, name and looks included
    if plain is None or hashlib.sha256(text.encode()).hexdigest()[:16] != identity:
        raise RecordError(
            f"{path}: the hash of {spoken(key)} is not that of the settings it was "
            f"recorded with: {RENEW}"
        )
    try:
        return Arm.from_json(plain)
    except (TypeError, ValueError, AttributeError) as error:
        raise RecordError(
            f"{path}: {spoken(key)} was recorded with settings that this version does "
            f"not know ({error}): run its experiment anew"
        ) from error
