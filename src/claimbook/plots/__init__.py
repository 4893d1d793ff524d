"""One look for all figures of the book.

The ground is opaque white, legible in dark mode too. Pages decide which arms a figure
shows, and what its caption says.
"""

from typing import Any

from claimbook.errors import needing_extra

with needing_extra():
    from claimbook.plots import style
    from claimbook.plots.curves import *
    from claimbook.plots.picture import *
    from claimbook.plots.style import *


def __getattr__(name: str) -> Any:
    """Return `style.colours()` for the name ``COLOUR``, when somebody asks for it.

    So an import of this package needs no checkout. Raises AttributeError for any other
    name.
    """
    if name == "COLOUR":
        return style.colours()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
