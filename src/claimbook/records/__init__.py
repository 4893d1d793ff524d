"""The store of results, a file per member, by its training key: what is trained.

Experiments that train the same share the file. *Missing* is what has no file, or one
that lacks what an arm asks to see; *stale* is a file that no arm of today reads, and an
*orphan* a column that no observable of today makes. The store trains nothing, deletes
nothing, and reading needs no torch.
"""

from .record import Record, add, index, load, merge, missing, orphans, recorded, stale

__all__ = [
    "Record",
    "add",
    "index",
    "load",
    "merge",
    "missing",
    "orphans",
    "recorded",
    "stale",
]
