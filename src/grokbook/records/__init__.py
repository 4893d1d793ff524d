"""The store of results: a member is a file.

    member   the files of one arm with one seed: written whole, checked when read
    record   what an experiment reads of them, what it lacks, and the index of all
    merging  members trained elsewhere

A member lies in ``<paper>/<training key>-<seed>.parquet``. The training key is the hash
of what is trained: experiments that train the same share the file. *Missing* is what
has no file, or one that lacks what an arm asks to see; *stale* is a file that no arm of
today reads. A new seed adds a file and changes none. The store knows experiments as
data, and files: it trains nothing, deletes nothing, and reading needs no torch.
"""

from grokbook.errors import RecordError
from grokbook.records.member import commit
from grokbook.records.merging import merge
from grokbook.records.record import (
    Record,
    add,
    index,
    load,
    missing,
    recorded,
    root,
    stale,
)

__all__ = ["Record", "RecordError", "add", "commit", "index", "load", "merge"]
__all__ += ["missing", "recorded", "root", "stale"]
