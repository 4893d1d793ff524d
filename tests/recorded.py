"""Results that nobody trained, and ways to damage the records made of them."""

import hashlib
import json

import pandas as pd
import pyarrow.parquet as pq
from helpers import arm, experiment

from grokbook.experiment import Result
from grokbook.records import table

EPOCHS = (0, 10, 20, 30)


def result(one, seed, *, loss=1.0, kept=None, info=(), more=(), **parts):
    """A result with a few rows; ``more`` columns, and ``info`` beside the device."""
    rows = [
        {"epoch": epoch, "train_loss": loss / (epoch + 1), "test_accuracy": 0.5}
        | {name: float(epoch) for name in more}
        for epoch in EPOCHS
    ]
    told = {"device": "cpu", "matmul": "torch"} | dict(info)
    return Result(one, seed, rows, kept or {}, 2.0, told, **parts)


def two(scale="smoke", name="prieto2025/fig06b", seeds=(0, 1)):
    """An experiment of two arms that log every ten of their thirty epochs."""
    arms = arm("a", log=10), arm("b", log=10, alpha=2.0)
    plain = experiment(*arms, seeds=seeds, name=name).to_json() | {"scale": scale}
    return type(experiment()).from_json(plain)


def metadata(path):
    """The metadata as they stand in the file."""
    return json.loads(pq.read_schema(path).metadata[b"grokbook"])


def change(path, *, frame=None, meta=None):
    """Write a table anew, its frame replaced or its metadata edited in place."""
    rows, told = pd.read_parquet(path), metadata(path)
    if meta is not None:
        meta(told)
    table.write(rows if frame is None else frame(rows), told, path)


def as_format_1(path):
    """Turn a table into what the first format wrote."""
    meta = metadata(path)
    arms = {plain["name"]: plain for plain in meta["experiment"]["arms"]}
    for key, about in meta["members"].items():
        text = json.dumps(arms[key.rpartition("|")[0]], sort_keys=True)
        for name in ("training_key", "rows", "digest"):
            del about[name]
        about["hash"] = hashlib.sha256(text.encode()).hexdigest()[:16]
    meta["format"] = 1
    table.write(pd.read_parquet(path), meta, path)


def contents(folder):
    """Every file below a folder with its bytes, but for locks."""
    files = (f for f in sorted(folder.rglob("*")) if f.is_file())
    return {f: f.read_bytes() for f in files if f.suffix != ".lock"}
