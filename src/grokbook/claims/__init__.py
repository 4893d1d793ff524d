"""What a page concludes, judged seed by seed and shown as a box and a table."""

from grokbook.claims.sheet import MIME, Sheet, exactly, read
from grokbook.claims.verdict import median
