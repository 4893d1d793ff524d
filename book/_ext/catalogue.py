"""What the book says about all of its pages at once, made from the executed twins.

`write` makes book/generated/, which is neither edited nor committed: what the landing
page and the chapters' front pages include, and the scoreboard. Its words and its HTML
are the macros of book/_templates/catalogue.md; book/landing.yml has the title and the
thesis of each paper.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, FileSystemLoader

from book._ext.entries import Entry, anchor, named, plain, rank, support, update
from book._ext.handouts import BLOCK
from grokbook.claims.verdict import badge, is_few, look, outcome
from grokbook.project import FOLDERS, PAPERS, home

HERE = Path(__file__).parent
LEGEND = {
    "holds": "holds in every seed",
    "mixed": "holds in some",
    "fails": "fails in every seed",
    "holds few": "hollow: fewer than three seeds",
    "holds small": "dashed: in a smaller version",
    "idle": "not run",
}
OUTCOMES = {w: w for w in ("holds", "mixed", "fails")} | {"idle": "not run"}
EVIDENCE = {"full": "three seeds, the paper's size"}
EVIDENCE |= {"few": "fewer than three seeds", "small": "a smaller size"}
FILTERS = {"paper": PAPERS, "verdict": OUTCOMES, "evidence": EVIDENCE}


def write(found: Sequence[Entry]) -> None:
    """Write the generated pages; unchanged files stay as they are."""
    of = {paper: [e for e in found if e.paper == paper] for paper in FOLDERS}
    every = [entry for paper in PAPERS for entry in of[paper]]
    written = {
        "landing/questions.md": made("questions", of["questions"]),
        "landing/matrix.md": made("squares", every),
        "landing/papers.md": made("papers", of),
        "exercises.md": made("exercises", found),
        "scoreboard.md": scoreboard(every),
        "beyond.md": beyond(every),
    }
    written |= {f"papers/{paper}.md": made("chapter", of[paper]) for paper in PAPERS}
    for entry in of["questions"]:
        rows = rests_on(entry.id.partition("/")[2], found)
        written[f"{entry.id}.md"] = made("rests_on", rows)
    for name, content in written.items():
        update(home() / "book" / "generated" / name, content)


def made(name: str, *given: object) -> str:
    """What a macro of the template makes of entries and claims."""
    return getattr(templates().get_template("catalogue.md").module, name)(*given)


@cache
def templates() -> Environment:
    env = Environment(loader=FileSystemLoader([HERE.parent / "_templates", HERE]))
    env.filters["plain"] = plain
    known = (anchor, badge, landing, look, named, rank, so_far, support)
    env.globals |= {function.__name__: function for function in known}
    env.globals |= {"LEGEND": LEGEND, "FILTERS": FILTERS, "BLOCK": BLOCK}
    return env


def scoreboard(found: Sequence[Entry]) -> str:
    """The claims of the papers."""
    return made("scoreboard", [(e, c) for e in found for c in e.claims])


def beyond(found: Sequence[Entry]) -> str:
    """What the pages measure beyond their papers."""
    every = [(e, c) for e in found for c in e.carried["claims"] if c["extra"]]
    return made("beyond", every)


def landing() -> dict[str, Any]:
    """book/landing.yml: title, thesis and official code of each paper."""
    return yaml.safe_load((home() / "book" / "landing.yml").read_text(encoding="utf-8"))


def rests_on(question: str, found: Sequence[Entry]) -> list[tuple[Entry, Any]]:
    """The claims behind an answer, those that hold first, each with its page."""
    rows = [(e, c) for e in found for c in e.claims if c["question"] == question]
    return sorted(rows, key=lambda row: rank(row[1]["verdict"]))


def so_far(found: Sequence[Entry]) -> str:
    """How many claims there are, have a verdict, hold, wait for seeds, wait at all."""
    claims = [claim for entry in found for claim in entry.claims]
    run = [claim for claim in claims if outcome(claim["verdict"]) != "idle"]
    judged = [claim for claim in run if not is_few(claim["verdict"])]
    held = sum(claim["holds"] for claim in judged)
    exact = sum(support(claim) == "exact" for claim in judged)
    return (
        f"Of {len(claims)} claims {len(judged)} have a verdict ({exact} of them are "
        f"exact and need no seeds), and {held} of these hold; {len(run) - len(judged)} "
        f"were tried with fewer than three seeds, {len(claims) - len(run)} not yet."
    )
