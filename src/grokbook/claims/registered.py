"""What is tested, as it was registered before the runs: book/<paper>/claims.yaml.

One entry per row, by page and then by a short id, in the order of the page:

    fig10:
      growth:
        says: the paper's words
        where: Appendix C
        tested: the share of lost updates at the end is at least twice that at the fit
        at_least: 2
        main: true
        registered: 2026-10-02

Git dates the file, and an entry its test. One that was exchanged after its result says
in ``was`` what was planned, what that gives, and why it is not the test any more.
"""

import datetime
import re
import string
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from grokbook import project
from grokbook.errors import PageError

BOUNDS = ("at_least", "at_most", "above", "below")
WAS = {"planned", "gives", "reason"}


@dataclass(frozen=True, kw_only=True)
class Row:
    """One entry. Without ``says`` it is a measurement of ours, or a test with a bound.

    ``order``: several arms come one after the other, with ``open_end`` some of them
    never (`claim.in_order`). ``exact``: checked at points, of which none is a seed.
    ``extra``: beyond the paper, reported and not judged. ``run`` false: nothing tests
    it yet. ``tested`` may have fields in braces, which the page fills in.
    """

    id: str
    tested: str
    registered: datetime.date
    says: str = ""
    where: str = ""
    at_least: float | None = None
    at_most: float | None = None
    above: float | None = None
    below: float | None = None
    show: str = "{:,.0f}"
    main: bool = False
    order: bool = False
    open_end: bool = False
    exact: bool = False
    extra: bool = False
    run: bool = True
    was: list[dict[str, str]] = field(default_factory=list)

    @property
    def is_bound(self) -> bool:
        return any(getattr(self, bound) is not None for bound in BOUNDS)

    def holds(self, value: float) -> bool:
        """Whether a value lies within the bounds."""
        return (
            (self.at_least is None or value >= self.at_least)
            and (self.at_most is None or value <= self.at_most)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )


def rows(page: str) -> list[Row]:
    """The entries of a page "<paper>/<id>"; PageError for one that is wrong."""
    paper, _, name = page.partition("/")
    entries = _read(project.home() / "book" / paper / "claims.yaml").get(name)
    if not entries:
        raise PageError(f"claims.yaml has nothing of {page}: register what it tests.")
    return [_row(page, key, entry) for key, entry in entries.items()]


def differing(page: str, shown: list[dict[str, Any]]) -> str:
    """What the claims that a page shows (as JSON) have other than its entries, or "".

    A measurement of ours that nobody made is not shown, which is no difference.
    """

    def fits(row: Row, claim: dict[str, Any]) -> bool:
        parts = string.Formatter().parse(row.tested)
        text = "".join(
            re.escape(t) + (".*" if f is not None else "") for t, f, *_ in parts
        )
        words = (row.says, row.where) == (claim["quote"], claim["where"])
        ends = "(; those that never .*)?" if row.open_end else ""
        return words and bool(re.fullmatch(text + ends, claim["statement"], re.DOTALL))

    known = rows(page)
    for claim in shown:
        if not any(fits(row, claim) for row in known):
            return f"shows '{claim['statement']}', which is not registered so"
    for row in known:
        if row.says and not any(fits(row, claim) for claim in shown):
            return f"does not show its row '{row.id}'"
    return ""


def _row(page: str, key: str, entry: dict[str, Any]) -> Row:
    where = f"Row '{key}' of {page} in claims.yaml"
    known = {one.name for one in fields(Row)} - {"id"}
    if unknown := set(entry) - known:
        raise PageError(f"{where} has the unknown key '{min(unknown)}'.")
    if not isinstance(entry.get("registered"), datetime.date):
        raise PageError(f"{where} has no date: say when its test was `registered`.")
    if not entry.get("tested"):
        raise PageError(f"{where} does not say what is `tested`.")
    row = Row(id=key, **entry)
    if bool(row.says) != bool(row.where):
        raise PageError(f"{where} has only one of the paper's words and their place.")
    if row.says and row.run and not (row.is_bound or row.order or row.exact):
        raise PageError(f"{where} could not fail: give it a bound.")
    if any(set(one) != WAS for one in row.was):
        raise PageError(f"{where} has a `was` that lacks one of {sorted(WAS)}.")
    return row


class _Loader(yaml.SafeLoader):
    """Refuses a key that is there twice, of which YAML would keep the last."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value if key.value != "<<"]
        if twice := [key for key in keys if keys.count(key) > 1]:
            raise PageError(f"{node.start_mark.name} has the key '{twice[0]}' twice.")
        return super().construct_mapping(node, deep)


@cache
def _read(path: Path) -> dict[str, Any]:
    """All entries of a file; nothing where there is none."""
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8") as text:
        found: dict[str, Any] = yaml.load(text, _Loader) or {}
    return found
