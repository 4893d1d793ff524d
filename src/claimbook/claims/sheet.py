"""The claims of a page as a box and as a table, which carries them as JSON too."""

import builtins
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from html import escape
from typing import Any

from pandas import Series

from claimbook import evidence, tables
from claimbook.claims import verdict
from claimbook.claims.verdict import YES_OR_NO, BySeed, Row, badge, judged, outcome
from claimbook.errors import PageError
from claimbook.evidence import Run
from claimbook.project import CLAIMS_MIME as MIME
from claimbook.records import Record
from claimbook.tables import Cell, Html, fold, folded, grid, line

HEAD = ("The paper says", "Tested as", "Here (median)", "Range", "n", "Verdict")
RERUN = "A rerun: the verdicts below are those of its own runs."
SEEDS = re.compile(r"(, )?(up to )?(one|two|three) seeds? of \w+$")
SEVERAL = 3  # sizes of networks that one line cannot describe together
CHANGED = ("Tested as", "Planned", "What that gives", "Why it was changed")


def read(page: str, found: Mapping[str, Any], **fields: object) -> "Sheet":
    """The claims that claims.yaml lists for a page, judged by the values it found.

    ``found`` has what each row rests on, by its id: the run or the runs with one value
    per seed; for an order the values by run, in the claimed order; for what is exact
    what `exactly` gives. Where several arms are tested alike it has all of this by
    name, which fills in ``{each}`` of the statement: one line of the table for each.
    Other ``fields`` fill in other braces. PageError for a row without a value, and for
    a value without a row.
    """
    sheet, rows = Sheet(page), verdict.rows(page)
    if apart := found.keys() ^ {row.id for row in rows if row.run}:
        raise PageError(
            f"Page {page} and claims.yaml differ in the row '{min(apart)}'."
        )
    for row in rows:
        value: Any = found.get(row.id)
        is_each = isinstance(value, Mapping) and not row.order
        for each, one in value.items() if is_each else [("", value)]:
            known = fields | {"each": each}
            words: Any = {
                key: getattr(row, key).format("{}", **known)  # its value comes later
                for key in ("tested", "reads", "never")
            }
            sheet.add(replace(row, id=f"{row.id} {each}".strip(), **words), one)
    return sheet


def exactly(ours: str, checks: Iterable[bool]) -> tuple[str, int, int]:
    """What `read` takes of an exact row: in words, and which of its points agree."""
    agree = [bool(check) for check in checks]
    return ours, sum(agree), len(agree)


class Sheet(list[Row]):
    """The claims of one page, in its order."""

    def __init__(self, page: str):
        super().__init__()
        self.page = page
        self.runs: dict[Run, None] = {}
        self.own: list[Run] = []  # those of the main row
        self.values: dict[str, tuple[Row, BySeed]] = {}

    def add(self, row: Row, found: Any) -> None:
        """One row with what it rests on, see `read`.

        Where no seed has a value it reads "cannot tell" if all it rests on was trained,
        else "not run"; a measurement is left out.
        """
        if row.exact or not row.run:
            how = dict(zip(("ours", "held", "n"), found or (), strict=False))
            self.append(replace(row, **how, interval="exact" if how else "—"))
            return
        if not row.order:
            self.values[row.id] = row, found[1]
            some = [found[0]] if isinstance(found[0], Run) else found[0]
            found = {one: found[1] for one in some}
        self.runs |= dict.fromkeys(found)
        self.own += found if row.main else []
        row = replace(row, runs=tuple(f"{r.record.name}|{r.arm}" for r in found))
        if found and all(map(len, found.values())):
            self.append(judged(row, found))
        elif row.bounds or row.order:
            tried = bool(found) and all(run.seeds for run in found)
            ours = "no seed can test it" if tried else row.ours
            self.append(replace(row, tried=tried, ours=ours))

    def told(self, name: str, show: str = "") -> str:
        """The value of a row in a sentence; of one of several: "at-the-end M+A*"."""
        row, value = self.values[name]
        by_seed = Series(value, dtype=float)
        is_whole = len(by_seed) and by_seed.notna().all()  # else `told` says what lacks
        if row.show == YES_OR_NO and not show and is_whole:
            return f"yes in {by_seed.sum():.0f} of {len(by_seed)}"
        return evidence.told(by_seed, show or row.show)

    def box(self, answer: str = "") -> Html:
        """A page's answer in a person's words; then what its badge judges: the paper's
        words with verdict and runs, and what decides it; how the other claims fare;
        what was trained; and the terms that the answer does not explain."""
        answer = RERUN if tables.is_rerun() else answer
        main = self._main()
        sizes: dict[str, list[str]] = {}
        for run in self.own:
            sizes.setdefault(self._size(run), []).append(run.label or run.arm)
        marks = [
            f"Less than the paper's{_of(labels, sizes)}: {size}"
            for size, labels in sizes.items()
            if size
        ]
        if main and not main.exact and {*sizes} == {""}:
            marks = ["The paper's network, data and length of training"]
        lines = [_paragraph("answer", answer)]
        if main:  # neither a question nor measurements of ours alone
            lines += [_paragraph("judged", _badge(main), f" {_judged(main)}")]
            marks += filter(None, [_fare(self._shown())])
        lines += [_paragraph("marks", mark) for mark in marks]
        arms = [run.settings for run in self.own if len(sizes) < SEVERAL]
        if recipe := tables.recipe(arms):
            lines += [_paragraph("recipe", recipe)]
        text = f"{answer} {main.says if main else ''}"
        for term, means in tables.terms(text, self.page):
            bold = Html(f"<b>{escape(term)}</b>", term)
            lines += [_paragraph("term", bold, f": {means}")]
        html = "".join(line.html for line in lines)
        told = "\n".join(line.text for line in lines if line.text)
        return Html(f"<div class='verdict-box'>{html}</div>", told)

    def closing(self, *records: Record) -> Html:
        """What ends a page: its claims, and folded what was run and what it read.

        Records without members are left out, and each is shown once.
        """
        rows, cited, main = self._shown(), evidence.cited(), self._main()
        claims = {
            "page": self.page,
            "scale": main.scale if main else "paper",
            "verdict": main.verdict if main else "not judged",
            "claims": [row.to_json() for row in rows],
            "registered": verdict.digest(self.page),
            "read": evidence.read(),
            "cited": cited,
        }
        shown = [*_table(rows), *_registered(rows)] if rows else []
        table = tables.joined(*shown, by="").html
        parts = [Html(table, "\n".join(map(_line, rows)), {MIME: claims})]
        if not hasattr(builtins, "__IPYTHON__"):  # a page that runs as a script
            print(parts[0].text)
        there = {(record.name, record.scale): record for record in records if record}
        parts += map(tables.trained, there.values())
        if there or cited:
            made = tables.provenance(*there.values(), references=cited)
            parts.append(fold("Where the numbers come from", made))
        return tables.joined(*parts)

    def _size(self, run: Run) -> str:
        """In words what a run has less of than the paper's; "" where nothing.

        How many runs there are stands beside the badge.
        """
        reduced = SEEDS.sub("", run.record.experiment.reduced)
        if run.record.scale == "paper" and not reduced:
            return tables.shorter(run.record, run.arm)
        return reduced

    def _main(self) -> Row | None:
        if all(row.beyond for row in self):  # no row is a paper's
            return None
        (found,) = [row for row in self._shown() if row.main and not row.beyond]
        return found

    def _shown(self) -> list[Row]:
        """The rows; where one record is a smoke test, none of them is judged."""
        if any(run.record.scale == "smoke" for run in self.runs):
            return [replace(row, scale="smoke", why="") for row in self]
        return self


def _table(rows: list[Row]) -> list[Html]:
    papers = [row for row in rows if not row.beyond]
    title = "The claims of the paper and what came of them"
    cells = map(_cells, papers)
    parts = [grid(HEAD, cells, kind="claims", caption=title, hidden=True)]
    why = [run for row in papers for run in row.why.split("; ") if run]
    if few := "; ".join(dict.fromkeys(why)):
        parts.append(line(f"Fewer than three seeds: {few}.", "few"))
    if ours := [_measured(row) for row in rows if row.beyond]:
        beyond = grid(("Measured", *HEAD[2:5]), ours, kind="claims beyond")
        many = "measurements" if len(ours) > 1 else "measurement"
        parts.append(fold(f"Beyond the paper: {len(ours)} {many} of ours", beyond))
    return parts


def _registered(rows: list[Row]) -> list[Html]:
    """When the tests were registered, and those that were changed; folded."""
    dates = sorted(row.registered.isoformat() for row in rows if row.bounds)
    keys = ("planned", "gives", "reason")
    every = [(r.tested, [was[key] for key in keys]) for r in rows for was in r.was]
    changed = [[now, *old] for old, now in {tuple(o): n for n, o in every}.items()]
    if not dates:
        return []
    told = " to ".join(dict.fromkeys([dates[0], dates[-1]]))
    title = f"Tests registered {told}; {len(changed) or 'none'} changed since"
    if not changed:
        return [line(f"{title}.", "registered")]
    return [folded(title, CHANGED, changed, kind="settings changed")]


FARE = {  # how claims fare: in what words one of them does, and several
    "holds": ("1 holds", "{} hold"),
    "mixed": ("1 holds in some runs only", "{} hold in some runs only"),
    "fails": ("1 fails", "{} fail"),
    verdict.CANNOT_TELL: ("1 cannot be told", "{} cannot be told"),
    verdict.BY_CONSTRUCTION: (
        "1 is true by construction",
        "{} are true by construction",
    ),
    verdict.NOT_RUN: ("1 is not run", "{} are not run"),
}


def _fare(rows: list[Row]) -> str:
    """How the paper's claims on a page fare; "" where there is one alone."""
    if rows[0].scale == "smoke":
        return "it runs, nothing is judged"
    claims = [row for row in rows if not (row.beyond or row.same_as)]
    found = Counter(row.verdict.partition(",")[0] for row in claims)
    if len(claims) < 2:
        return ""
    told = [
        (many if found[key] > 1 else one).format(found[key])
        for key, (one, many) in FARE.items()
        if found[key]
    ]
    return f"Of the {len(claims)} claims of this page {', '.join(told)}"


def _paragraph(kind: str, *parts: Cell) -> Html:
    """A paragraph of a box, in HTML and in words."""
    html = "".join(escape(p) if isinstance(p, str) else p.html for p in parts)
    text = "".join(p if isinstance(p, str) else p.text for p in parts)
    return Html(f"<p class='{kind}'>{html}</p>", text)


def _judged(row: Row) -> str:
    """What a badge says of which words, in how many runs, and by what."""
    said = f"“{row.says.rstrip('.')}”"
    if how_many := _in_runs(row):
        said = f"{how_many}: {said}"
    return f"{said}. What decides it: {row.sentence}." if row.sentence else f"{said}."


def _of(labels: list[str], sizes: Mapping[str, object]) -> str:
    """Whose size it is, where a page has networks of several."""
    return f" ({', '.join(dict.fromkeys(labels))})" if len(sizes) > 1 else ""


def _in_runs(row: Row) -> str:
    """What follows a badge: in how many runs (or cases) the words are true."""
    if row.scale == "smoke" or not row.n or outcome(row.verdict) == "idle":
        return ""
    one = "case" if row.exact else "run"
    if row.n == 1:
        return f"in the only {one}"
    if row.held == row.n:
        return f"in {row.n:,} of {row.n:,} {one}s"
    return f"true in {row.held or 'none'} of {row.n:,} {one}s"


def _found(row: Row) -> str:
    spread = "" if row.interval == "—" else f"{row.interval}; "
    seeds = f"n = {row.n:,}"
    some = row.scale != "smoke" and 0 < row.held < row.n
    if some and "in order" not in row.interval:
        seeds = f"holds in {row.held:,} of {row.n:,}"
    return f"{row.sentence or row.ours} ({spread}{seeds})"


def _tested(row: Row) -> str:
    """How a row is tested, and what a reader must know of that beside it."""
    tested = row.tested
    for column, commit in row.measured_by.items():
        tested += (
            f" (column {column}: measured by commit {commit}, not by today's code)"
        )
    if row.by_construction:
        tested += f" (by construction: {row.by_construction})"
    return tested


def _line(row: Row) -> str:
    said = f"“{row.says}” ({row.where})" if row.says else "ours"
    return f"{said} | {_tested(row)} | {_found(row)} | {row.verdict}"


def _cells(row: Row) -> list[Cell]:
    quote = f"<q>{escape(row.says)}</q> <span>{escape(row.where)}</span>"
    return [Html(quote, row.says), *_measured(row), _badge(row)]


def _measured(row: Row) -> tuple[Cell, ...]:
    tested = _tested(row)
    test = f"<span id='{escape(verdict.anchor(row.id))}'>{escape(tested)}</span>"
    return Html(test, tested), row.sentence or row.ours, row.interval, f"{row.n:,}"


def _badge(row: Row) -> Html:
    held = "" if row.scale == "smoke" else f"held in {row.held} of {row.n}"
    return Html(badge(row.verdict, held), row.verdict)
