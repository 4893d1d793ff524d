"""What a page concludes, judged seed by seed and shown as a box and a table."""

from claimbook.errors import needing_extra

with needing_extra():
    from claimbook.claims.sheet import MIME, Sheet, exactly, read
    from claimbook.claims.verdict import median
