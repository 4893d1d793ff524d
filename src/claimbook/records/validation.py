"""What a member must have to be one.

Its digest says that nothing changed since it was written. Whether it is the record of a
training is another question, asked here whenever a member is read, merged or released.
"""

import json
import math
import re
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pyarrow import Table

from claimbook import canonical, project
from claimbook.experiment import NOT_TRAINED, Arm

TEXTS = ("device", "device_name", "matmul", "commit", "finished", "training_key")
COUNTS = ("seed", "epochs", "format")  # whole numbers from 0 on
AMOUNTS = ("seconds", "epochs_per_second")  # finite numbers from 0 on
SIDES = ("weights", "trace")  # SHA-256 of files, where there are these
FIELDS = {field.name for field in fields(Arm)}


def metadata_fault(meta: dict[str, Any]) -> str:
    """Return what is wrong with the metadata of a member; "" if nothing is."""
    for name in TEXTS:
        if not (isinstance(meta.get(name), str) and meta[name]):
            return f"has no {name} in words"
    for name in COUNTS:
        if type(meta.get(name)) is not int or meta[name] < 0:
            return f"has no whole number of {name}"
    for name in AMOUNTS:
        amount: Any = meta.get(name)
        if type(amount) not in (int, float) or not 0 <= amount < math.inf:
            return f"has no number of {name}"
    for name in SIDES:
        if name in meta and not re.fullmatch("[0-9a-f]{64}", str(meta[name])):
            return f"has no SHA-256 of its {name}"
    if not isinstance(meta.get("arm"), dict):
        return "has no arm"
    return ""


def rows_fault(rows: Table, meta: dict[str, Any]) -> str:
    """Return why rows are not what a training leaves, or "" if they are.

    ``meta`` is the metadata of the training, without a `metadata_fault`. Rows come with
    a digest, so it is known that every value is a number.
    """
    try:
        plan = _plan(json.dumps(meta["arm"], sort_keys=True), project.home())
    except (TypeError, ValueError, KeyError, AttributeError):
        return "has an arm that is none"
    if plan.key != meta["training_key"]:
        return f"has an arm of another training key, {plan.key}"
    try:
        epochs = rows.column("epoch").to_numpy()
    except KeyError:
        return "has no column of epochs"
    if "train_loss" not in rows.column_names:  # which every training measures
        return "has no column train_loss"
    end = meta["epochs"]
    if end > plan.arm.epochs or (end < plan.arm.epochs and not _stops(rows, plan.arm)):
        return f"ends at epoch {end} of {plan.arm.epochs}"
    if plan.is_older:  # measured at more epochs, for reasons that arms of today lack
        epochs = epochs[np.isin(epochs, plan.logged)]
    if not np.array_equal(epochs, plan.logged[plan.logged <= end]):
        return "has other epochs than its arm logs"
    if plan.arm.trace and "trace" not in meta:
        return "has no trace, which its arm asks for"
    if plan.arm.keeps_weights(meta["seed"]) and "weights" not in meta:
        return "has no weights, which its arm asks for"
    return ""


class _Plan(NamedTuple):
    """What an arm that was recorded says of the rows of its members."""

    arm: Arm
    key: str
    logged: np.ndarray
    is_older: bool  # it has fields that arms of today lack


@cache  # seeds and experiments share an arm, and a book has keys of its own
def _plan(text: str, _book: Path) -> _Plan:
    """Return what the recorded arm says of its members; ``text`` is the arm as JSON.

    Fields that arms of today lack are left out of the arm, and count in its key.
    ``_book`` is the folder of the book, for which the plan is cached.
    """
    settings = json.loads(text)
    arm = Arm.from_plain({k: v for k, v in settings.items() if k in FIELDS})
    key = canonical.key({k: v for k, v in settings.items() if k not in NOT_TRAINED})
    logged = np.array(arm.logged_epochs())
    return _Plan(arm, key, logged, not settings.keys() <= FIELDS)


def _stops(rows: Table, arm: Arm) -> bool:
    """Return whether a member reached the test accuracy at which its arm stops."""
    if arm.stop is None or "test_accuracy" not in rows.column_names:
        return False
    return bool((rows.column("test_accuracy").to_numpy() >= arm.stop).any())
