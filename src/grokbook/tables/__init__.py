"""What a page shows beside its figures and claims, drawn from its records.

    html        `grid` of plain words, and the HTML that every table of the book shares
    experiment  `trained`: settings beside the paper's, and the arms with their seeds
    origin      `provenance`: records, devices, versions, the paper's own points
    words       `prose`: sentences whose numbers come from a record

Not covered: the table of claims (`claims`), and what a number means (`evidence`).
"""

from grokbook.tables.experiment import flat, stated, trained
from grokbook.tables.html import Cell, Html, fold, folded, grid, joined, markup
from grokbook.tables.origin import provenance
from grokbook.tables.words import Prose, prose
