"""What a page concludes, judged seed by seed and shown as a box and a table.

claim    `Claim`, its verdict, and the functions that judge one
sheet    `Sheet`: how a page writes its claims, one call each
display  the box at the head of a page and its table, with what the page read
"""

from grokbook.claims.claim import Claim, Values, main, median, summary
from grokbook.claims.display import MIME, Box, ClaimsTable
from grokbook.claims.sheet import Sheet

__all__ = [
    "MIME",
    "Box",
    "Claim",
    "ClaimsTable",
    "Sheet",
    "Values",
    "main",
    "median",
    "summary",
]
