"""What the landing page says was found: sentences by a person, evidence by the record.

book/landing.yml has each sentence with the page that carries it, and the claims it
rests on with how each came out. Badges and seeds come from the executed pages, and a
sentence that these contradict is a PageError, as is a claim that there is not.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from book._ext import notebooks
from book._ext.catalogue.entries import Entry, evidence, named
from grokbook.claims.verdict import badge, outcome
from grokbook.errors import PageError
from grokbook.project import PAPERS, home

SAID = ("holds", "partly", "fails")
ONE_OF = [{said} for said in SAID]


def landing() -> dict[str, Any]:
    """book/landing.yml: `papers` (title and thesis of each) and `findings`."""
    import yaml

    path = home() / "book" / "landing.yml"
    try:
        found = yaml.safe_load(notebooks.text_of(path))
        whole = _whole(found)
    except (yaml.YAMLError, AttributeError, KeyError, TypeError):
        whole = False
    if not whole:
        raise PageError(
            f"{notebooks.place(path)} lacks the title or thesis of a paper, or a "
            "finding its page and claims: see the lines at its top."
        )
    return found


def _whole(found: dict[str, Any]) -> bool:
    """Whether nothing is missing; what is no mapping or list raises."""
    papers = [{"title", "thesis"} <= set(found["papers"][paper]) for paper in PAPERS]
    findings = [
        {"says", "page"} <= set(one)
        and all(set(rest) - {"page"} in ONE_OF for rest in one["rests on"])
        for one in found["findings"]
    ]
    return all([*papers, *findings])


def shown(entries: Mapping[str, Entry]) -> str:
    """The findings as a list in Markdown; ``entries`` by page id.

    PageError where a sentence rests on a page or claim that there is not, or says
    of one what its verdict does not.
    """
    lines: list[str] = []
    for finding in landing()["findings"]:
        entry = _page(finding["page"], entries)
        told = dict.fromkeys(
            _evidence(_claim(rest, finding["page"], entries))
            for rest in finding["rests on"]
        )
        sentence = " ".join(finding["says"].split())
        where = f"{named(entry.paper)}, {entry.label}"
        lines += [f"* [{sentence}](/{entry.document}.ipynb)", ""]
        lines += [f"  {where}: {' &ensp; '.join(told)}", ""]
    return "\n".join(["::::{div} findings", *lines, "::::", ""])


def _page(page_id: str, entries: Mapping[str, Entry]) -> Entry:
    if page_id not in entries:
        raise PageError(
            f"book/landing.yml rests a finding on page '{page_id}', which there is not."
        )
    return entries[page_id]


def _claim(
    rest: dict[str, str], page_id: str, entries: Mapping[str, Entry]
) -> dict[str, Any]:
    """The claim that one line of `rests on` names, if it came out as the line says."""
    (said,) = set(rest) & set(SAID)
    entry = _page(rest.get("page", page_id), entries)
    found = {claim["statement"]: claim for claim in entry.claims}
    statement = rest[said]
    if statement not in found:
        near = difflib.get_close_matches(statement, found, n=1, cutoff=0.0)
        hint = f": did you mean '{near[0]}'?" if near else "."
        raise PageError(
            f"book/landing.yml rests a finding on a claim that page {entry.id} does "
            f"not have, '{statement}'{hint}"
        )
    verdict = found[statement]["verdict"]
    if outcome(verdict) != said:
        raise PageError(
            f"book/landing.yml says '{said}' of the claim '{statement}', and page "
            f"{entry.id} has '{verdict}': rewrite the finding that rests on it."
        )
    return found[statement]


def _evidence(claim: dict[str, Any]) -> str:
    shown = f"{badge(claim['verdict'])} {evidence(claim)}"
    return f'<span class="evidence">{shown}</span>'
