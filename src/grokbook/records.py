"""The store of results: one Parquet table per experiment and scale.

A table is tidy: one row per member and logged epoch, columns ``arm``, ``seed``,
``epoch`` and the observables. Its metadata hold the experiment and, per member, the
hash of its settings, versions, device, commit and seconds. Weights that a figure needs
lie beside it as safetensors. A file is written whole under another name and then
renamed, so a reader sees the old one or the new one.

The settings in a record must be those of the code: otherwise it is *stale*.
"""

import json
import os
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import safetensors
import safetensors.torch
from torch import Tensor

from grokbook import files
from grokbook.experiment import Experiment
from grokbook.training import Outcome

PROJECT = Path(__file__).resolve().parents[2]
FORMAT = 1


class RecordError(RuntimeError):
    """A record is missing, damaged, foreign or stale; the message says what to do."""


def root() -> Path:
    """Folder of the records: GROKBOOK_RECORDS if set, else data/records."""
    return Path(os.environ.get("GROKBOOK_RECORDS") or PROJECT / "data" / "records")


@dataclass
class Record:
    """One table with the experiment it belongs to, as the code has it today."""

    path: Path
    experiment: Experiment
    frame: pd.DataFrame
    meta: dict[str, Any]

    @property
    def name(self) -> str:
        return self.experiment.name

    @property
    def scale(self) -> str:
        return self.experiment.scale

    @property
    def members(self) -> dict[str, dict[str, Any]]:
        """What is known of each recorded member, by "arm|seed"."""
        return self.meta["members"]

    @property
    def missing(self) -> list[tuple[str, int]]:
        """(arm, seed) of members that the experiment names and nobody trained yet."""
        return [
            (arm.name, seed)
            for arm, seed in self.experiment.members()
            if f"{arm.name}|{seed}" not in self.members
        ]

    @property
    def seconds(self) -> float:
        """Training time of all members, added up."""
        return sum(member["seconds"] for member in self.members.values())

    def seeds(self, arm: str) -> list[int]:
        """Seeds recorded for an arm, in the order of the experiment."""
        return [s for s in self.experiment.seeds if f"{arm}|{s}" in self.members]

    def series(self, arm: str, column: str) -> pd.DataFrame:
        """Epochs down, one column per seed, of one observable of one arm.

        Epochs at which it was measured for no seed are left out.
        """
        chosen = self.frame[self.frame["arm"] == arm]
        table = chosen.pivot(index="epoch", columns="seed", values=column)
        return table.dropna(how="all")

    def weights(self, arm: str, seed: int, epoch: int) -> dict[str, Tensor]:
        """Kept parameters of one member; RecordError if that epoch was not kept."""
        prefix = f"{arm}|{seed}|{epoch}|"
        found = {
            key.removeprefix(prefix): value
            for key, value in self._kept.items()
            if key.startswith(prefix)
        }
        if not found:
            raise RecordError(
                f"{self.name} at {self.scale} scale keeps no weights of arm {arm!r}, "
                f"seed {seed}, epoch {epoch}"
            )
        return found

    @cached_property
    def _kept(self) -> dict[str, Tensor]:
        return _read_weights(_weights_path(self.path))


def path_of(name: str, scale: str, folder: Path | None = None) -> Path:
    """Where a record lies: <folder>/<paper>/<name>.<scale>.parquet."""
    return (folder or root()) / f"{name}.{scale}.parquet"


def load(experiment: Experiment, folder: Path | None = None) -> Record:
    """The record of an experiment; RecordError if missing, damaged or stale."""
    path = path_of(experiment.name, experiment.scale, folder)
    rerun = f"run `grokbook run {experiment.name} --scale {experiment.scale}`"
    if not path.exists():
        raise RecordError(
            f"{experiment.name} has no record at {experiment.scale} scale: {rerun}"
        )
    frame, meta = _read(path)
    stale = _stale(experiment, meta)
    if stale:
        raise RecordError(f"{path.name} is stale, {stale}: {rerun} to renew it")
    return Record(path, experiment, frame, meta)


def missing(experiment: Experiment, folder: Path | None = None) -> list[tuple]:
    """Members (arm, seed) that still have to be trained, stale ones among them."""
    path = path_of(experiment.name, experiment.scale, folder)
    done = _read(path)[1]["members"] if path.exists() else {}
    return [
        (arm, seed)
        for arm, seed in experiment.members()
        if done.get(f"{arm.name}|{seed}", {}).get("hash") != arm.hash()
    ]


def add(
    experiment: Experiment, outcomes: Iterable[Outcome], folder: Path | None = None
) -> Path:
    """Put finished members into the record, replacing what they make out of date."""
    path = path_of(experiment.name, experiment.scale, folder)
    frame, meta = _read(path) if path.exists() else (None, {"members": {}})
    kept = _read_weights(_weights_path(path))
    current = {f"{arm.name}|{seed}": arm.hash() for arm, seed in experiment.members()}
    members = {
        key: about
        for key, about in meta["members"].items()
        if about["hash"] == current.get(key)
    }
    parts = []
    if frame is not None:
        keys = frame["arm"] + "|" + frame["seed"].astype(str)
        parts.append(frame[keys.isin(members)])
    for outcome in outcomes:
        key = f"{outcome.arm.name}|{outcome.seed}"
        rows = pd.DataFrame(outcome.rows)
        rows.insert(0, "arm", outcome.arm.name)
        rows.insert(1, "seed", outcome.seed)
        if key in members:
            parts = [p[(p["arm"] + "|" + p["seed"].astype(str)) != key] for p in parts]
        parts.append(rows)
        members[key] = _about(outcome)
        for epoch, weights in outcome.kept.items():
            for name, weight in weights.items():
                kept[f"{key}|{epoch}|{name}"] = weight.contiguous()
    order = list(current)
    frame = pd.concat([p for p in parts if len(p)], ignore_index=True)
    place = (frame["arm"] + "|" + frame["seed"].astype(str)).map(order.index)
    frame = frame.iloc[
        pd.DataFrame({"place": place, "epoch": frame["epoch"]})
        .sort_values(["place", "epoch"])
        .index
    ].reset_index(drop=True)
    meta = {
        "format": FORMAT,
        "experiment": experiment.to_json(),
        "members": {key: members[key] for key in order if key in members},
    }
    kept = {k: v for k, v in kept.items() if k.rsplit("|", 2)[0] in members}
    if kept:
        _write(
            _weights_path(path), lambda temp: safetensors.torch.save_file(kept, temp)
        )
    _write(path, lambda temp: _write_table(frame, meta, temp))
    return path


def _about(outcome: Outcome) -> dict[str, Any]:
    epochs = outcome.rows[-1]["epoch"]
    return outcome.info | {
        "hash": outcome.arm.hash(),
        "epochs": epochs,
        "seconds": round(outcome.seconds, 2),
        "epochs_per_second": round(epochs / max(outcome.seconds, 1e-9), 2),
        "commit": commit(),
        "finished": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


@cache
def commit() -> str:
    """Commit of the code, with a plus sign if the package was changed since.

    That of the first call: a checkout may move on while its code is training. Where
    the code lies outside one, what GROKBOOK_COMMIT says, or "unknown".
    """

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", "-C", str(PROJECT), *words],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--", "src")
        return git("rev-parse", "--short=10", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return os.environ.get("GROKBOOK_COMMIT", "unknown")


def _stale(experiment: Experiment, meta: dict[str, Any]) -> str:
    """What a record was made with and the code no longer says, or ""."""
    recorded = {arm["name"]: arm for arm in meta["experiment"]["arms"]}
    today = {arm.name: arm for arm in experiment.arms}
    for key, about in meta["members"].items():
        name = key.rsplit("|", 1)[0]
        if name not in today:
            return f"its arm {name!r} no longer exists"
        if about["hash"] != today[name].hash():
            before, now = recorded.get(name, {}), today[name].to_json()
            changed = [
                f"{field} was {before.get(field, 'default')!r} and is now "
                f"{now.get(field, 'default')!r}"
                for field in sorted(before.keys() | now.keys())
                if before.get(field) != now.get(field)
            ]
            return f"arm {name!r}: {'; '.join(changed) or 'its settings changed'}"
    return ""


def _weights_path(path: Path) -> Path:
    return path.with_suffix(".safetensors")


def _read(path: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    try:
        table = pq.read_table(path, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        raise RecordError(
            f"{path} cannot be read as a record, it may be truncated: delete it (or "
            "take it from git again) and run its experiment anew"
        ) from error
    try:
        meta = json.loads((table.schema.metadata or {})[b"grokbook"])
        [about["hash"] for about in meta["members"].values()]
        [arm["name"] for arm in meta["experiment"]["arms"]]
        table.select(["arm", "seed", "epoch"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RecordError(
            f"{path} was not written by grokbook: move it out of the records folder"
        ) from error
    return table.to_pandas(), meta


def _write_table(frame: pd.DataFrame, meta: dict[str, Any], path: Path) -> None:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    told = dict(table.schema.metadata) | {b"grokbook": json.dumps(meta).encode()}
    table = table.replace_schema_metadata(told)
    pq.write_table(table, path, compression="zstd", write_page_checksum=True)


def _read_weights(path: Path) -> dict[str, Tensor]:
    if not path.exists():
        return {}
    try:
        return safetensors.torch.load_file(path)
    except (safetensors.SafetensorError, OSError) as error:
        raise RecordError(
            f"{path} cannot be read as kept weights, it may be truncated: delete it "
            "and its record and run the experiment anew"
        ) from error


def _write(path: Path, write: Callable[[Path], None]) -> None:
    """Write a file of the record whole, or say in a RecordError why not."""
    try:
        with files.whole(path) as temporary:
            write(temporary)
    except (OSError, pa.ArrowException, safetensors.SafetensorError) as error:
        reason = str(error).partition("\n")[0]
        raise RecordError(
            f"{path} cannot be written ({reason}): free some space and run the same "
            "command again; finished members are kept beside the checkpoints"
        ) from error
