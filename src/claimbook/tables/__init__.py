"""What a page shows beside its figures and claims, drawn from its records."""

from claimbook.errors import needing_extra

with needing_extra():
    from claimbook.tables.experiment import (
        page_entries,
        provenance,
        reduced_length,
        settings_in_words,
        stated,
        training_tables,
    )
    from claimbook.tables.html import (
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
    from claimbook.tables.recipe import display_name, recipe
    from claimbook.tables.terms import terms
