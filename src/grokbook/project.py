"""Where the book lies on this machine, and the few words that all of it shares.

The records belong to a checkout, never to the environment that the package is installed
in: outside of one, GROKBOOK_HOME must say where they are.
"""

import os
from pathlib import Path

from grokbook.errors import GrokbookError

PAPERS = {
    "prieto2025": "Prieto et al. (2025)",
    "singh2026": "Singh et al. (2026)",
    "liu2026": "Liu et al. (2026)",
    "tiwari2026": "Tiwari et al. (2026)",
}
FOLDERS = ("basics", *PAPERS)  # of the book that hold pages; the first is of no paper
CLAIMS_MIME = "application/vnd.grokbook.claims+json"
FIGURE_MIME = "application/vnd.grokbook.figure+json"


def home() -> Path:
    """The checkout: GROKBOOK_HOME, or the one that this package lies in.

    GrokbookError where there is neither, as for an installed package.
    """
    if told := os.environ.get("GROKBOOK_HOME"):
        if not Path(told).is_dir():
            raise GrokbookError(f"GROKBOOK_HOME is {told!r}, which is no folder")
        return Path(told)
    checkout = Path(__file__).resolve().parents[2]
    if not (checkout / "book" / "contents.csv").is_file():
        raise GrokbookError(
            f"{checkout} is no checkout of the book: set GROKBOOK_HOME to the folder "
            "that has, or shall have, data/records"
        )
    return checkout


def records_folder() -> Path:
    """GROKBOOK_RECORDS if set, else data/records of the checkout."""
    told = os.environ.get("GROKBOOK_RECORDS")
    return Path(told) if told else home() / "data" / "records"


def reruns_folder() -> Path:
    """data/reruns of the checkout, which git ignores: what a reader trains."""
    return home() / "data" / "reruns"


def data_folder() -> Path:
    """Folder of the public data sets: GROKBOOK_DATA, else data/downloads."""
    told = os.environ.get("GROKBOOK_DATA")
    return Path(told) if told else home() / "data" / "downloads"
