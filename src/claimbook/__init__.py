"""Books of experiments: what is run, what came out, and what claims it bears out.

``record``, ``members`` and ``verdicts`` give the book's data as pandas frames, from any
folder (see `project.home`) and without torch.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pandas import DataFrame

__version__ = "0.1.0"
UNITS = "epochs in optimizer steps, accuracies as fractions, losses as means over rows"


def record(name: str, *, scale: str = "best") -> "DataFrame":
    """All members of an experiment as one table: a row per arm, seed and logged epoch.

    ``attrs`` say the paper, the settings, and of each member on what and from which
    commit it was trained. NoRecord if nobody trained it yet.
    """
    from claimbook import papers, project

    found = papers.record(name, scale=scale)
    frame = found.frame.copy()
    frame.attrs = {
        "paper": project.paper_titles().get(name.partition("/")[0], "of no paper"),
        "settings": found.experiment.to_json(),
        "members": found.members,
        "units": UNITS,
        "licence": "MIT",
    }
    return frame


def members() -> "DataFrame":
    """What was trained: a row per experiment, scale, arm and seed, with its file."""
    import pandas as pd

    from claimbook import project

    return pd.read_csv(project.records_folder() / "index.csv")


def verdicts() -> "DataFrame":
    """What the papers say and what came of it: a row per page and claim."""
    import json

    import pandas as pd

    from claimbook import project

    if (kept := project.home() / "data" / "claims.json").is_file():  # has no pages
        return pd.read_json(kept)
    rows = []
    for path in sorted(project.home().glob("book/*/*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            for output in cell.get("outputs", ()):
                told = output.get("data", {}).get(project.CLAIMS_MIME, {"claims": ()})
                rows += [{"page": told["page"]} | one for one in told["claims"]]
    return pd.DataFrame(rows)
