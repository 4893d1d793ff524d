"""A rerun beside the book: claim by claim, the book's value and that of the rerun.

Claims are matched by their statement. No verdict is drawn from a rerun at smoke scale.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grokbook.book import notebooks, pages
from grokbook.errors import PageError


def compare(rerun: Path) -> Iterator[str]:
    """Lines of claim | book | rerun where they differ, and how many agree.

    PageError where the page or its rerun carries no claims.
    """
    import nbformat

    ran = nbformat.read(rerun, as_version=4)
    page_id = ran.metadata["grokbook"]["page"]
    twin = notebooks.read_twin(pages.find(page_id))
    book, mine = (_claims(page_id, one) for one in (twin, ran))
    shared = [s for s in book if s in mine]
    told = [s for s in shared if book[s]["verdict"] == mine[s]["verdict"]]
    yield f"{page_id}: {len(told)} of {len(shared)} claims with the book's verdict"
    for statement in shared:
        if statement not in told:
            parts = (_told(claims[statement]) for claims in (book, mine))
            yield f"  {statement} | book: {next(parts)} | rerun: {next(parts)}"
    for name, one, other in (("book", book, mine), ("rerun", mine, book)):
        if alone := [s for s in one if s not in other]:
            yield f"  only in the {name}: {'; '.join(alone)}"


def _claims(page_id: str, notebook: Any) -> dict[str, dict[str, Any]]:
    found = notebook and notebooks.claims_of(notebook)
    if not found:
        raise PageError(f"Page {page_id} has no claims to compare: execute it first.")
    return {claim["statement"]: claim for claim in found["claims"]}


def _told(claim: dict[str, Any]) -> str:
    return f"{claim['ours']} (n = {claim['n']}), {claim['verdict']}"
