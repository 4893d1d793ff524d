"""Whether the metadata and rows of a file are those that a training leaves.

A digest says that nothing changed since a file was written. It does not say that the
file is the record of a training: that is checked here, whenever a member is read or
merged. Each ``…_fault`` returns the fault as the end of a sentence about the file.
"""

import json
import math
import re
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pyarrow import Table

from claimbook import canonical, project
from claimbook.experiment import NOT_TRAINED, Arm

# Entries of the metadata that are texts, and not empty.
TEXTS = ("device", "device_name", "matmul", "torch", "python", "commit", "training_key")
# Entries that are whole numbers, with the least that each may be.
COUNTS = {"seed": 0, "epochs": 0, "format": 0, "members_together": 1}
# Entries that are finite numbers from 0 on.
AMOUNTS = ("seconds", "epochs_per_second")
# Entries that may be absent, or else are the SHA-256 of files or code.
DIGESTS = ("weights", "trace", "source")
DAY = r"\d{4}-\d\d-\d\d"
SLACK = 1e-6  # by which rounding may carry a value past its bound
FIELDS = {field.name for field in fields(Arm)}  # names of the fields of today's arms


def metadata_fault(meta: dict[str, Any]) -> str:
    """Return what is wrong with the metadata of a member; "" if nothing is."""
    for name in TEXTS:
        if not (isinstance(meta.get(name), str) and meta[name]):
            return f"has no {name} in words"
    for name, least in COUNTS.items():
        # compared by type, as True is an instance of int
        if type(meta.get(name)) is not int or meta[name] < least:
            return f"has no whole number of {name}"
    for name in AMOUNTS:
        amount: Any = meta.get(name)
        if type(amount) not in (int, float) or not 0 <= amount < math.inf:
            return f"has no number of {name}"
    for name in DIGESTS:
        if name in meta and not re.fullmatch("[0-9a-f]{64}", str(meta[name])):
            return f"has no SHA-256 of its {name}"
    if not re.fullmatch(DAY, str(meta.get("finished"))):
        return "has no day on which it finished"
    if not isinstance(meta.get("arm"), dict):
        return "has no arm"
    return ""


def rows_fault(rows: Table, meta: dict[str, Any]) -> str:
    """Return why rows are not what a training leaves, or "" if they are.

    ``rows`` has a row per logged epoch, and ``meta`` is the metadata, without a
    `metadata_fault`. Every value is known to be a number, NaN or infinity included: of
    anything else the digest of the rows cannot be computed.
    """
    try:
        expected = _expected(json.dumps(meta["arm"], sort_keys=True), project.home())
    except Exception:  # as the arm may be any JSON: half a dozen types
        return "has an arm that is none"
    arm = expected.arm
    if expected.key != meta["training_key"]:
        return f"has an arm of another training key, {expected.key}"
    try:
        epochs = rows.column("epoch").to_numpy()
    except KeyError:
        return "has no column of epochs"
    if "train_loss" not in rows.column_names:  # which every training measures
        return "has no column train_loss"
    end = meta["epochs"]
    due = _last_epoch(epochs, rows, arm)
    if end != due:
        return f"ends at epoch {end} of {due}"
    # compared, as the difference of two infinities is NaN
    if (epochs[1:] <= epochs[:-1]).any() or epochs.max(initial=end) > end:
        return "has epochs that do not ascend to its last one"
    logged = expected.epochs
    if expected.is_older:  # a field that is gone may have asked for more epochs
        epochs = epochs[np.isin(epochs, logged)]
    if not np.array_equal(epochs, logged[logged <= end]):
        return "has other epochs than its arm logs"
    is_nan = np.isnan(rows.column("train_loss").to_numpy())
    if is_nan[0] or (is_nan.any() and not arm.through_nan):
        return "has a training loss of NaN, which ends a training"
    if arm.trace and "trace" not in meta:
        return "has no trace, which its arm asks for"
    if arm.keeps_weights(meta["seed"]) and "weights" not in meta:
        return "has no weights, which its arm asks for"
    return _bounds_fault(rows, arm)


def _bounds_fault(rows: Table, arm: Arm) -> str:
    """Return the fault of a column with a value that it cannot have; "" without one.

    "bounds" of book/project.yaml says between which numbers a column lies, by its stem.
    NaN is within any bounds. Nothing is checked if the arm names a module that is not
    the book's: its loss may be below 0.
    """
    if any(":" in spec.name for _, spec in arm.specs()):
        return ""
    bounds = project.part("bounds")
    for name in rows.column_names:
        low, high = bounds.get(_stem(name), (-math.inf, math.inf))
        values = rows.column(name).to_numpy()
        if (values < low - SLACK).any() or (values > high + SLACK).any():
            return f"has a value of {name} that is not from {low:g} to {high:g}"
    return ""


def newcomer_fault(
    rows: Table, meta: dict[str, Any], stems: Callable[..., set[str]]
) -> str:
    """Return why today's code cannot have left a member; "" if it can.

    ``rows`` and ``meta`` are without a fault of `rows_fault` and `metadata_fault`.
    ``stems`` is `observing.stems`, which is given since this needs no torch.
    """
    if "source" not in meta or "numpy" not in meta:
        return "does not say of which source or numpy it is"
    present = {_stem(name) for name in rows.column_names} - {"epoch"}
    for stem in sorted(present - stems()):  # those of all observables
        return f"has a column that no observable makes, {stem}"
    arm = Arm.from_plain(meta["arm"])
    try:
        asked = stems([*arm.observables, *arm.rare_observables])
    except KeyError as error:
        return f"asks for an observable that there is not, {error}"
    if meta["epochs"]:  # what is measured of a step is not at epoch 0
        for stem in sorted(asked - present):
            return f"has no column {stem}, which its arm asks for"
    for name in rows.column_names:
        if np.isnan(rows.column(name).to_numpy()).all():
            return f"has a column without a number, {name}"
    return ""


def _stem(column: str) -> str:
    """Return the name of a column up to its first dot."""
    return column.partition(".")[0]


class _Expected(NamedTuple):
    """What follows from a recorded arm for the rows of its members."""

    arm: Arm
    key: str  # of the training, by which the file has to be called
    epochs: np.ndarray  # (logged epochs,), ascending
    is_older: bool  # it has fields that arms of today lack


@cache  # seeds and experiments share an arm, and a book has keys of its own
def _expected(text: str, _book: Path) -> _Expected:
    """Return what follows from a recorded arm, whose plain data are ``text`` in JSON.

    Fields that arms of today lack are left out of the arm, and count in its key.
    ``_book`` is the folder of the book, for which the result is cached.
    """
    settings = json.loads(text)
    arm = Arm.from_plain({k: v for k, v in settings.items() if k in FIELDS})
    key = canonical.key({k: v for k, v in settings.items() if k not in NOT_TRAINED})
    epochs = np.array(arm.logged_epochs())  # to its last one, without ``stop``
    return _Expected(arm, key, epochs, is_older=not settings.keys() <= FIELDS)


def _last_epoch(epochs: np.ndarray, rows: Table, arm: Arm) -> int:
    """Return the epoch at which a training that logged these rows has to end.

    ``epochs`` (rows,) are those of the rows. The training ends at the last epoch of its
    arm, or at the first logged one at which its ``stop`` lets it end.
    """
    if arm.stop is None or "test_accuracy" not in rows.column_names:
        return arm.epochs
    # epochs with the accuracy of ``stop``; a NaN does not reach it
    reached = epochs[rows.column("test_accuracy").to_numpy() >= arm.stop]
    # if there is none, the last epoch of the arm counts as the first of them
    ends = epochs[epochs >= reached.min(initial=arm.epochs) + arm.after_stop]
    return int(ends.min(initial=arm.epochs))
