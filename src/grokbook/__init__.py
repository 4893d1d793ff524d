"""The Grokking Book: experiments on delayed generalisation and numerical precision."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pandas import DataFrame

__version__ = "0.1.0"

UNITS = {"epoch": "optimizer steps"} | {
    f"{part}_{what}": "fraction"
    for part in ("train", "test")
    for what in ("accuracy", "top5")
}


def record(name: str, *, scale: str = "best") -> "DataFrame":
    """All members of an experiment as one table: a row per arm, seed and logged epoch.

    ``attrs`` say the paper, the units that are known, the settings, and of each member
    on what and from which commit it was trained. NoRecord if nobody trained it yet.
    """
    from grokbook import papers, project

    found = papers.record(name, scale=scale)
    paper = name.partition("/")[0]
    frame = found.frame.copy()
    frame.attrs = {
        "paper": project.PAPERS.get(paper, "of no paper"),
        "units": {column: UNITS[column] for column in frame if column in UNITS},
        "settings": found.experiment.to_json(),
        "members": {
            member: {k: v for k, v in about.items() if k != "arm"}
            for member, about in found.members.items()
        },
    }
    return frame
