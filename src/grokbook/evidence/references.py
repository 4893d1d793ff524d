"""The papers' own numbers, as tables that are pinned, and the list of those cited.

They are CSV files in data/references/<paper>. Each is a row of sources.csv there, which
says where it comes from, how it was made, and its SHA-256.
"""

import hashlib
import math
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pandas as pd

from grokbook import project
from grokbook.errors import DataError

_CITED: dict[str, dict[str, Any]] = {}


def reference(name: str) -> pd.DataFrame:
    """The authors' numbers "<paper>/<name>", noted in `cited`.

    Columns ``quantity``, ``series``, ``epoch`` and ``value``, some with more of them
    (data/README.md); units as in records, so accuracies are fractions. DataError for a
    file that is not listed, or not the one that was listed.
    """
    row, path = source(name), project.home() / "data/references" / f"{name}.csv"
    found = hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "none"
    if found != row["sha256"]:
        raise DataError(
            f"{path} has the SHA-256 {found[:12]}…, not {row['sha256'][:12]}… of "
            "sources.csv: restore it, or write there what it is now"
        )
    kept = ("sha256", "repository", "commit", "path")
    _CITED[name] = {"name": name} | {key: row[key] for key in kept}
    return pd.read_csv(path)


def source(name: str) -> dict[str, str]:
    """The row of sources.csv about a reference; DataError where there is none."""
    path = project.home() / "data/references/sources.csv"
    rows = pd.read_csv(path, dtype=str, keep_default_na=False).set_index("file")
    if (file := f"{name}.csv") not in rows.index:
        raise DataError(f"{path} lists no {file!r}: it has {', '.join(rows.index)}")
    return rows.loc[file].to_dict()


def behind(mean: float, spread: float, *, count: int = 5, step: int = 100) -> list:
    """Which epochs may lie behind a printed mean and (population) deviation.

    All ascending choices of ``count`` multiples of ``step`` whose mean and deviation
    are the printed ones to half an epoch. ``step`` is larger than ``count``.
    """
    total = step * round(count * mean / step)
    if abs(total / count - mean) > 0.5:
        return []
    reach = math.ceil(math.sqrt(count) * (spread + 1) / step)
    near = step * (np.arange(-reach, reach + 2) + int(mean / step))
    first = np.array(list(combinations_with_replacement(near, count - 1)))
    rows = np.column_stack([first, total - first.sum(axis=1)])
    fit = (rows[:, -1] >= rows[:, -2]) & (abs(rows.std(axis=1) - spread) <= 0.5)
    return [tuple(map(int, row)) for row in rows[fit]]


def cited() -> list[dict[str, Any]]:
    """What `reference` has given out so far, each once: name, SHA-256 and origin."""
    return list(_CITED.values())
