"""Putting finished members into a record, whole or not at all."""

import math
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from safetensors import SafetensorError

from grokbook import files, project
from grokbook.errors import GrokbookError, RecordError
from grokbook.experiment import Experiment, Result
from grokbook.records import table
from grokbook.records.beside import SIDES, TRACES, WEIGHTS
from grokbook.records.fit import fit
from grokbook.records.record import path_of
from grokbook.records.table import Meta, member, parts


@dataclass
class Entry:
    """All that a record holds of one member; ``beside`` by the name of the side."""

    rows: pd.DataFrame
    about: Meta
    beside: dict[str, Any]


def add(
    experiment: Experiment, results: Iterable[Result], folder: Path | None = None
) -> Path:
    """Put finished members into the record, replacing what they make out of date.

    Members whose training the experiment no longer names are dropped. RecordError if a
    result is none of this experiment's, or the record cannot be read or written, which
    leaves it as it was.
    """
    path = path_of(experiment.name, experiment.scale, folder)
    keys = {arm.name: arm.training_key() for arm in experiment.arms}
    new = {}
    for result in results:
        arm, seed = result.arm, result.seed
        known = keys.get(arm.name) == arm.training_key() and seed in experiment.seeds
        if not known:
            raise RecordError(
                f"arm {arm.name!r} with these settings, seed {seed}, is no member of "
                f"{experiment.name} at {experiment.scale} scale: record it where it "
                "belongs"
            )
        new[member(arm.name, seed)] = _entry(result)
    if new:
        with writing(path) as batch:
            put(experiment, path, new, batch)
    return path


def put(
    experiment: Experiment, path: Path, new: Mapping[str, Entry], batch: files.Batch
) -> None:
    """Write a record with new members, and those of the old one that still fit."""
    frame, meta = table.read(path) if path.exists() else (None, {"members": {}})
    fits = fit(experiment, meta["members"])
    moved = {
        key: None if fits.get(key) in new else fits.get(key) for key in meta["members"]
    }
    for side in SIDES:
        mine = {k: e.beside[side.name] for k, e in new.items() if side.name in e.beside}
        side.renew(path, moved, mine, batch)
    entries = {} if frame is None else _staying(frame, meta, moved)
    entries |= new
    # Seeds that the experiment no longer plans come last: they cost their hours.
    planned = [member(arm.name, seed) for arm, seed in experiment.members()]
    order = [key for key in dict.fromkeys([*planned, *entries]) if key in entries]
    joined = pd.concat([entries[key].rows for key in order], ignore_index=True)
    if frame is not None:  # its columns stay where they are, new ones come last
        before = [name for name in frame.columns if name in joined]
        joined = joined[[*before, *joined.columns.difference(before, sort=False)]]
    told = {
        "format": table.FORMAT,
        "experiment": experiment.to_json(),
        "members": {key: entries[key].about for key in order},
    }
    table.write(joined, told, batch.write(path))


def _staying(
    frame: pd.DataFrame, meta: Meta, moved: Mapping[str, str | None]
) -> dict[str, Entry]:
    """Recorded members that stay, under today's names."""
    found = {}
    for key, rows in table.of_members(frame):
        if now := moved[key]:
            mine = rows if now == key else rows.assign(arm=parts(now)[0])
            found[now] = Entry(mine, meta["members"][key], {})
    return found


def _entry(result: Result) -> Entry:
    """A result as a record holds it; RecordError if its epochs do not ascend."""
    rows = pd.DataFrame(result.rows)
    epochs = rows["epoch"] if "epoch" in rows else pd.Series([math.nan])
    if epochs.dtype.kind != "i" or not (epochs.diff().dropna() > 0).all():
        raise RecordError(
            f"the result of arm {result.arm.name!r}, seed {result.seed} has no rows at "
            "ascending epochs: delete its files in .checkpoints and train it again"
        )
    about = _about(result) | table.seal(rows)
    rows.insert(0, "arm", result.arm.name)
    rows.insert(1, "seed", result.seed)
    beside: dict[str, Any] = {}
    if result.kept:
        beside[WEIGHTS.name] = {
            f"{epoch}|{name}": weight
            for epoch, weights in result.kept.items()
            for name, weight in weights.items()
        }
    if result.trace is not None and len(result.trace):
        beside[TRACES.name] = _four_digits(result.trace)
        about["steps"] = len(result.trace)
    return Entry(rows, about, beside)


def _four_digits(trace: Sequence[float]) -> np.ndarray:
    """Losses rounded to 14 significant bits, of which a file takes a third."""
    values = np.array(trace, dtype=np.float64)
    normal = np.isfinite(values) & (abs(values) >= np.finfo(float).tiny)
    mantissa, exponent = np.frexp(values[normal])
    values[normal] = np.ldexp(np.rint(np.ldexp(mantissa, 14)), exponent - 14)
    return values


def _about(result: Result) -> Meta:
    epochs = result.rows[-1]["epoch"]
    return result.info | {
        "training_key": result.arm.training_key(),
        "epochs": epochs,
        "seconds": round(result.seconds, 2),
        "epochs_per_second": round(epochs / max(result.seconds, 1e-9), 2),
        "commit": commit(),
        "finished": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


@contextmanager
def writing(path: Path) -> Iterator[files.Batch]:
    """Files that take their places together, or a RecordError that says why not."""
    try:
        with files.together() as batch:
            yield batch
    except (OSError, pa.ArrowException, SafetensorError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise RecordError(
            f"{path} cannot be written ({reason}): free some space or allow writing "
            "there, and run the same command again; what was there is as it was"
        ) from error


@cache
def commit() -> str:
    """Commit of the code, with a plus sign if the package was changed since.

    That of the first call: a checkout may move on while its code is training. Where
    the code lies outside one, what GROKBOOK_COMMIT says, or "unknown".
    """

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", "-C", str(project.home()), *words],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--", "src")
        return git("rev-parse", "--short=10", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError, GrokbookError):
        return os.environ.get("GROKBOOK_COMMIT", "unknown")
