"""The store of results: one Parquet table per experiment and scale.

    table    the file: its rows, its metadata, and how both are checked
    beside   what lies beside it: kept weights, the loss of every step, states
    fit      whose training a recorded member is, by today's experiments
    record   Record, load, and what is missing
    adding   finished members, whole or not at all
    merging  members trained elsewhere
    lock     one writer at a time

The store knows experiments as data, and files. It trains nothing, and reading a record
needs no torch. Files are written whole under other names and then renamed together, so
that a reader sees the old record or the new one. What a record was trained with must be
what the code says today: otherwise it is *stale*.
"""

from grokbook.errors import RecordError
from grokbook.records.adding import add, commit
from grokbook.records.lock import locked
from grokbook.records.merging import Merged, merge
from grokbook.records.record import (
    Record,
    load,
    matmul,
    missing,
    path_of,
    recorded,
    root,
    states_path,
    trace_path,
)

__all__ = [
    "Merged",
    "Record",
    "RecordError",
    "add",
    "commit",
    "load",
    "locked",
    "matmul",
    "merge",
    "missing",
    "path_of",
    "recorded",
    "root",
    "states_path",
    "trace_path",
]
