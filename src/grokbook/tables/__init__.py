"""What a page shows beside its figures and claims, drawn from its records."""

from grokbook.tables.experiment import (
    check_keys,
    flat,
    noted,
    provenance,
    shorter,
    stated,
    trained,
)
from grokbook.tables.html import (
    Cell,
    Html,
    fold,
    folded,
    grid,
    is_rerun,
    joined,
    line,
    prose,
)
from grokbook.tables.recipe import recipe
from grokbook.tables.terms import terms
