"""The store of results: a member is a file.

    member   the files of one arm with one seed: written whole, checked when read
    record   what an experiment reads of them and lacks; members from elsewhere

A member lies in ``<paper>/<training key>-<seed>.parquet``. The training key is the hash
of what is trained: experiments that train the same share the file. *Missing* is what
has no file, or one that lacks what an arm asks to see; *stale* is a file that no arm of
today reads. The store trains nothing, deletes nothing, and reading needs no torch.
"""

from grokbook.errors import RecordError
from grokbook.records.record import (
    Record,
    add,
    index,
    load,
    merge,
    missing,
    recorded,
    stale,
)

__all__ = ["Record", "RecordError", "add", "index", "load", "merge", "missing"]
__all__ += ["recorded", "stale"]
