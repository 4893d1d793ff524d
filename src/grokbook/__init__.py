"""The Grokking Book: losses, optimizers, networks and metrics, and the book's data.

``record``, ``members`` and ``verdicts`` give what the book recorded as pandas frames,
without torch.
"""

from claimbook import __version__, members, record, verdicts
