"""What a page shows beside its figures and claims, drawn from its records.

html        `grid` and `prose`: the HTML that every table of the book shares
experiment  `trained`: settings beside the paper's, arms; `provenance`: their records
"""

from grokbook.tables.experiment import flat, noted, provenance, stated, trained
from grokbook.tables.html import Cell, Html, fold, folded, grid, joined, line, prose
