"""The store of results: a file per member, named by its training key and its seed.

A member is one arm with one seed. The key stands for what is trained, so experiments
that train the same share the file. A member is *missing* if it has no file, or one that
lacks a measurement that its arm asks for. A file is *stale* if no arm of today reads
it, and a column is an *orphan* if no observable of today makes it. The store trains
nothing and deletes nothing, and reading it needs no torch.
"""

from claimbook.errors import needing_extra

with needing_extra():
    from claimbook.records.record import (
        EXPERIMENTS,
        INDEX,
        Record,
        add,
        experiments_as_lines,
        index,
        load,
        merge,
        missing,
        orphans,
        read_experiments,
        read_index,
        recorded,
        recorded_arms,
        stale,
        write_index,
    )
