"""runs.parquet: one wide table of everything that was trained, for any data tool.

A row is a member of an experiment: its file, what it was trained with, what came of it,
and where it was trained. data/README.md says what each column holds.
"""

import json
import re
from hashlib import sha256
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from book._ext import settings
from claimbook import records
from claimbook.experiment import Arm, Experiment
from claimbook.project import home, records_folder
from claimbook.records.member import ATTRS

LEVEL = 0.99  # the accuracy from which a split counts as learned
CURVES = ["train_loss", "test_loss", "train_accuracy", "test_accuracy"]
METADATA = ["device", "device_name", "seconds", "commit", "torch", "finished"]
# Types of Croissant, by the kind of a column's dtype; other kinds are text.
TYPES = {"i": "sc:Integer", "f": "sc:Float"}


def table() -> pd.DataFrame:
    """Return the table of the book's records.

    It is kept in _build/runs, and made again only when the records, their index or this
    file change.
    """
    folder = records_folder()
    sources = [folder / records.INDEX, folder / records.EXPERIMENTS, Path(__file__)]
    digest = sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    kept = home() / "_build" / "runs" / f"{digest[:16]}.parquet"
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        table_of(folder).to_parquet(kept, index=False)
    return pd.read_parquet(kept)


def table_of(folder: Path) -> pd.DataFrame:
    """Return the table of a folder of records, read anew."""
    index = records.read_index(folder)
    arms = []
    for plain in records.read_experiments(folder).values():
        plan = Experiment.from_plain(plain)
        for arm in plan.arms:
            place = {"experiment": plan.name, "scale": plan.scale, "arm": arm.name}
            arms.append(place | trained_with(arm))
    logs, metadata = [], {}
    for file in index["file"].unique():
        log = pq.read_table(folder / file, columns=["epoch", *CURVES])
        attributes = json.loads(log.schema.metadata[ATTRS])
        metadata[file] = {name: attributes.get(name) for name in METADATA}
        log = log.append_column("file", pa.array([file] * len(log)))
        logs.append(log.replace_schema_metadata())
    outcome = outcomes(pa.concat_tables(logs).to_pandas())
    outcome = outcome.join(pd.DataFrame.from_dict(metadata, "index"))
    settings_table = pd.DataFrame(arms).convert_dtypes()  # whole numbers stay whole
    return index.merge(settings_table).merge(outcome, left_on="file", right_index=True)


def trained_with(arm: Arm) -> dict[str, object]:
    """Return the settings of an arm that matter by column, and all of them as JSON."""
    columns = {k.replace(" ", "_"): v for k, v in settings.values(arm).items()}
    betas = columns["betas"]
    return columns | {
        "betas": betas and settings.shown(betas),  # a column cannot hold pairs
        "batch": arm.batch_size,
        "settings": json.dumps(arm.as_plain(), ensure_ascii=False),
    }


def outcomes(logs: pd.DataFrame) -> pd.DataFrame:
    """Return what came of each file: last and best values, epochs of three events.

    ``logs`` has the logged epochs of all files, ascending, with the name of the file.
    From its first NaN on a network has no values, as in `claimbook.evidence.Run`. An
    event that never comes is missing.
    """
    file, epoch = logs["file"], logs["epoch"]
    is_lost = logs["train_loss"].isna().groupby(file).cummax()
    curves = logs[CURVES].mask(is_lost)
    result = curves.groupby(file).tail(1).set_axis(file.unique())
    result["best_test_accuracy"] = curves["test_accuracy"].groupby(file).max()
    result["ended"] = epoch.groupby(file).max()
    is_learned = curves >= LEVEL
    is_missed = is_lost | (curves["test_accuracy"] < LEVEL)
    last_miss = file.map(epoch[is_missed].groupby(file).max()).fillna(-1)
    for event, has_event in {
        "fitted": is_learned["train_accuracy"],
        "reached": is_learned["test_accuracy"],
        "generalised": is_learned["test_accuracy"] & (epoch > last_miss),
    }.items():
        result[event] = epoch[has_event].groupby(file).min().astype("Int64")
    return result


def fields(runs: pd.DataFrame) -> list[dict[str, str]]:
    """Return name, description and type of each column, for Croissant.

    The descriptions are those of data/README.md. Raises KeyError for a column that it
    does not describe.
    """
    text = (home() / "data" / "README.md").read_text(encoding="utf-8")
    (described,) = re.findall(r"^\| Column of runs.*?(?=^$)", text, re.M | re.S)
    # a line of it may describe several columns
    words_of = {
        name: words
        for names, words in re.findall(r"^\| (`.+?) \| (.+) \|$", described, re.M)
        for name in re.findall(r"`(\w+)`", names)
    }
    return [
        {
            "name": name,
            "description": words_of[name],
            "type": TYPES.get(dtype.kind.lower(), "sc:Text"),
        }
        for name, dtype in runs.dtypes.items()
    ]


def version(runs: pd.DataFrame) -> str:
    """Return the version of the data: day of the newest member, digest of the index.

    An example is "2026.11.28+0a1b2c3d".
    """
    day = runs["finished"].max().replace("-0", "-").replace("-", ".")
    digest = sha256((records_folder() / records.INDEX).read_bytes()).hexdigest()
    return f"{day}+{digest[:8]}"
