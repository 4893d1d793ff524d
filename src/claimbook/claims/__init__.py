"""What a page concludes, judged seed by seed and shown as a box and a table."""

from claimbook.claims.sheet import MIME, Sheet, exactly, read
from claimbook.claims.verdict import median
