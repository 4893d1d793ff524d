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
ABOUT = ["device", "device_name", "seconds", "commit", "torch", "finished"]
TYPES = {"i": "sc:Integer", "f": "sc:Float"}  # of Croissant; text else


def table() -> pd.DataFrame:
    """The table; it is made again only when the records or their index change."""
    folder = records_folder()
    sources = [folder / records.INDEX, folder / records.EXPERIMENTS, Path(__file__)]
    digest = sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    kept = home() / "_build" / "runs" / f"{digest[:16]}.parquet"
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        made(folder).to_parquet(kept, index=False)
    return pd.read_parquet(kept)


def made(folder: Path) -> pd.DataFrame:
    """The table of a folder of records, read anew."""
    index = records.read_index(folder)
    recorded = records.read_experiments(folder).values()
    arms = [
        {"experiment": plan.name, "scale": plan.scale, "arm": arm.name} | trained(arm)
        for plan in map(Experiment.from_plain, recorded)
        for arm in plan.arms
    ]
    rows, about = [], {}
    for file in index["file"].unique():
        logged = pq.read_table(folder / file, columns=["epoch", *CURVES])
        meta = json.loads(logged.schema.metadata[ATTRS])
        about[file] = {name: meta.get(name) for name in ABOUT}
        rows.append(logged.append_column("file", pa.array([file] * len(logged))))
    every = pa.concat_tables([one.replace_schema_metadata() for one in rows])
    outcome = outcomes(every.to_pandas()).join(pd.DataFrame.from_dict(about, "index"))
    trained_with = pd.DataFrame(arms).convert_dtypes()  # whole numbers stay whole
    return index.merge(trained_with).merge(outcome, left_on="file", right_index=True)


def trained(arm: Arm) -> dict[str, object]:
    """What an arm is trained with: settings that matter, and all of them as JSON."""
    named = {k.replace(" ", "_"): v for k, v in settings.values(arm).items()}
    betas = named["betas"] and settings.shown(named["betas"])
    return named | {
        "betas": betas,
        "batch": arm.batch_size,
        "settings": json.dumps(arm.as_plain(), ensure_ascii=False),
    }


def outcomes(rows: pd.DataFrame) -> pd.DataFrame:
    """What came of each file: last and best values, and the epochs of three events.

    ``rows`` has the logged epochs of all files, ascending. From its first NaN on a
    network has no values, as in `claimbook.evidence.Run`.
    """
    file, epoch = rows["file"], rows["epoch"]
    is_lost = rows["train_loss"].isna().groupby(file).cummax()
    curves = rows[CURVES].mask(is_lost)
    found = curves.groupby(file).tail(1).set_axis(file.unique())
    found["best_test_accuracy"] = curves["test_accuracy"].groupby(file).max()
    found["ended"] = epoch.groupby(file).max()
    is_learned = curves >= LEVEL
    is_missed = is_lost | (curves["test_accuracy"] < LEVEL)
    last_miss = file.map(epoch[is_missed].groupby(file).max()).fillna(-1)
    for event, is_there in {
        "fitted": is_learned["train_accuracy"],
        "reached": is_learned["test_accuracy"],
        "generalised": is_learned["test_accuracy"] & (epoch > last_miss),
    }.items():
        found[event] = epoch[is_there].groupby(file).min().astype("Int64")
    return found


def fields(table: pd.DataFrame) -> list[dict[str, str]]:
    """Its columns as Croissant has them, described by data/README.md."""
    text = (home() / "data" / "README.md").read_text(encoding="utf-8")
    (told,) = re.findall(r"^\| Column of runs.*?(?=^$)", text, re.M | re.S)
    about = {
        name: words
        for names, words in re.findall(r"^\| (`.+?) \| (.+) \|$", told, re.M)
        for name in re.findall(r"`(\w+)`", names)
    }
    return [
        {
            "name": name,
            "description": about[name],
            "type": TYPES.get(kind.kind.lower(), "sc:Text"),
        }
        for name, kind in table.dtypes.items()
    ]


def version(table: pd.DataFrame) -> str:
    """The version of the data: the day of its newest member, and the index's digest."""
    day = table["finished"].max().replace("-0", "-").replace("-", ".")
    digest = sha256((records_folder() / records.INDEX).read_bytes()).hexdigest()
    return f"{day}+{digest[:8]}"
