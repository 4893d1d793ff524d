"""Books of experiments: what is run, what came out, and which claims that bears out.

``record``, ``members`` and ``verdicts`` return the book's data as pandas frames. They
work in any folder (see `project.home`), without torch, and run no code of a book.
"""

from typing import TYPE_CHECKING

from claimbook import errors

if TYPE_CHECKING:
    from pandas import DataFrame

__version__ = "0.2.0"
UNITS = "epochs in optimizer steps, accuracies as fractions, losses as means over rows"


@errors.needing_extra()
def record(name: str, *, scale: str = "best") -> "DataFrame":
    """Return all members of an experiment as one table.

    It has a row per arm, seed and logged epoch. Its ``attrs`` have the paper, the
    settings, and for each member the device and the commit that trained it. Raises
    UnknownName if nobody has recorded the experiment, and NoRecord if nobody has at
    this scale.
    """
    from claimbook import papers, project

    stored = papers.record(name, scale=scale, find=papers.recorded)
    frame = stored.frame.copy()
    frame.attrs = {
        "paper": project.paper_titles().get(name.partition("/")[0], "of no paper"),
        "settings": stored.experiment.to_json(),
        "members": stored.members,
        "units": UNITS,
        "licence": "MIT",
    }
    return frame


@errors.needing_extra()
def members() -> "DataFrame":
    """Return the table of what was trained: a row per experiment, scale, arm, seed."""
    from claimbook import project, records

    return records.read_index(project.records_folder())


@errors.needing_extra()
def verdicts() -> "DataFrame":
    """Return what the papers claim and what came of it: a row per page and claim."""
    import json

    import pandas as pd

    from claimbook import project

    table = project.home() / "data" / "claims.json"
    if table.is_file():  # in a download, which has no pages
        return pd.read_json(table)
    rows = []
    for path in sorted(project.home().glob("book/*/*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            for output in cell.get("outputs", ()):
                page = output.get("data", {}).get(project.CLAIMS_MIME, {"claims": ()})
                rows += [{"page": page["page"]} | claim for claim in page["claims"]]
    return pd.DataFrame(rows)
