"""Books of experiments: what is run, what came out, and which claims that bears out.

``record``, ``members`` and ``verdicts`` return the book's data as pandas frames. They
work in any folder (see `project.home`), without torch, and run no code of a book.

The words of this package:

    arm         the settings of one curve: data set, network, loss, optimizer, ...
    seed        the number from which data and initial weights of a training are drawn
    member      one arm with one seed, which is one network that is trained
    stack       members that are trained at once, along a first axis of every tensor
    experiment  arms and seeds, named "<paper>/<id>"; each arm is trained with each seed
    scale       how large an experiment is run: "paper", "laptop" or "smoke" (seconds)
    record      what is stored of the members of an experiment at one scale
    run         one arm of a record with all its seeds, as a page reads it
    row         of tensors and data sets a sample, of a table a line, of claims.yaml a
                claim of a page, in an experiments.py the settings of an arm
"""

from typing import TYPE_CHECKING

from claimbook import errors

if TYPE_CHECKING:
    from pandas import DataFrame

__version__ = "0.2.0"
UNITS = "epochs in optimizer steps, accuracies as fractions, losses as means over rows"


@errors.needing_extra()
def record(name: str, *, scale: str = "best") -> "DataFrame":
    """Return what is recorded of an experiment as one table, a row per logged epoch.

    ``name`` is "<paper>/<id>"; ``scale`` is "paper", "laptop", "smoke", or "best" for
    the first of these at which there is a record. The columns are arm, seed, epoch and
    then what was measured, NaN where it was not. The ``attrs`` have the title of the
    paper, the settings, the units and the licence, and for each member, named
    "arm|seed", its metadata, such as the device and the commit that trained it. Raises
    UnknownName for an unknown scale or if nobody has recorded the experiment, NoRecord
    if nobody has at this scale, and RecordError if a file is damaged.
    """
    from claimbook import papers, project

    # `recorded` finds the experiment without running code of the book
    stored = papers.record(name, scale=scale, find=papers.recorded)
    frame = stored.frame.copy()
    frame.attrs = {
        "paper": project.paper_titles().get(name.partition("/")[0], "of no paper"),
        "settings": stored.experiment.as_plain(),
        "members": stored.members,
        "units": UNITS,
        "licence": "MIT",
    }
    return frame


@errors.needing_extra()
def members() -> "DataFrame":
    """Return the table of all recorded members, which are arms with one seed each.

    It has a row for each experiment, scale, arm and seed. Experiments may share a
    training, so that a file may stand in several rows. The columns are experiment,
    scale, arm, seed, file (below the folder of the records) and digest (the SHA-256 of
    what is recorded). Raises BookError if the table is missing or damaged.
    """
    from claimbook import project, records

    return records.read_index(project.records_folder())


@errors.needing_extra()
def verdicts() -> "DataFrame":
    """Return what the papers claim and what came of it: a row per page and claim.

    The columns are the page and what its closing table stores of a claim: the paper's
    words (quote), the test (statement), the result (ours), the verdict and others. In a
    folder without pages, and without data/claims.json, the table is empty.
    """
    import json

    import pandas as pd

    from claimbook import project

    table = project.home() / "data" / "claims.json"
    if table.is_file():  # in a download, which has this table in place of pages
        return pd.read_json(table)
    rows = []
    for path in sorted(project.home().glob("book/*/*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            for output in cell.get("outputs", ()):
                # what the closing cell of a page stores, see `claims.Sheet.closing`;
                # any other output counts as one without claims
                stored = output.get("data", {}).get(project.CLAIMS_MIME, {"claims": ()})
                rows += [{"page": stored["page"]} | row for row in stored["claims"]]
    return pd.DataFrame(rows)
