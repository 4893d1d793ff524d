"""The Grokking Book: experiments on delayed generalisation and numerical precision."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pandas import DataFrame

__version__ = "0.1.0"


def record(name: str, *, scale: str = "best") -> "DataFrame":
    """All members of an experiment as one table: a row per arm, seed and logged epoch.

    ``attrs`` say the paper, the settings, and of each member on what and from which
    commit it was trained. NoRecord if nobody trained it yet.
    """
    from grokbook import papers, project

    found = papers.record(name, scale=scale)
    frame = found.frame.copy()
    frame.attrs = {
        "paper": project.PAPERS.get(name.partition("/")[0], "of no paper"),
        "settings": found.experiment.to_json(),
        "members": found.members,
    }
    return frame
