"""What a page concludes, judged seed by seed and shown as one table.

claim    `Claim`, its verdict, and the functions that judge one
sheet    `Sheet`: how a page writes its claims, one call each
table    `table`: what ends the check cell, with what the page read
by_seed  values as dictionaries, for pages that do not use `evidence.Run` yet
"""

from grokbook.claims.by_seed import (
    at,
    combine,
    first_epoch,
    first_epoch_of_mean,
    largest,
    last,
    ratio,
)
from grokbook.claims.claim import (
    Claim,
    Values,
    exact,
    extra,
    median,
    not_run,
    order,
    page_verdict,
    per_seed,
    summary,
    with_scale,
    words,
)
from grokbook.claims.display import MIME, ClaimsTable, table
from grokbook.claims.sheet import Sheet

__all__ = [
    "MIME",
    "Claim",
    "ClaimsTable",
    "Sheet",
    "Values",
    "at",
    "combine",
    "exact",
    "extra",
    "first_epoch",
    "first_epoch_of_mean",
    "largest",
    "last",
    "median",
    "not_run",
    "order",
    "page_verdict",
    "per_seed",
    "ratio",
    "summary",
    "table",
    "with_scale",
    "words",
]
