"""What a page concludes, judged seed by seed and shown as a box and a table.

verdict  one row: its entry in book/<paper>/claims.yaml, what came of it, the verdict
sheet    `read`: the rows of a page with the values that it found; its box, its closing
"""

from grokbook.claims.sheet import MIME, Sheet, exactly, read
from grokbook.claims.verdict import median
