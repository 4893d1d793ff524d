"""The claims of a page as a box and as a table, which carries them as JSON too."""

import builtins
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any, NamedTuple

from pandas import Series

from claimbook import change, evidence, project, tables
from claimbook.claims import verdict
from claimbook.claims.verdict import (
    YES_OR_NO,
    BySeed,
    Claim,
    badge,
    outcome,
    with_result,
)
from claimbook.errors import PageError
from claimbook.evidence import Run
from claimbook.project import CLAIMS_MIME as MIME
from claimbook.records import Record
from claimbook.tables import Cell, Html, fold, folded, grid, line

HEAD = ("The paper says", "Tested as", "Here (median)", "Range", "n", "Verdict")
MEASURED_HEAD = ("Measured", "Here (median)", "Range", "n")
RERUN = "A rerun: the verdicts below are those of its own runs."
# what a box says of networks that are not reduced
WHOLE = (
    "Nothing is smaller or shorter than in the paper; what it leaves open is our choice"
)
OURS = "Task, network and length of training are our choice"
# a number of seeds at the end of what is reduced, as in "width 8, two seeds of five"
SEEDS = re.compile(r"(, )?(up to )?(one|two|three) seeds? of \w+$")
SEVERAL = 3  # sizes of networks that one line cannot describe together
CHANGED = ("Tested as", "Planned", "What that gives", "Why it was changed")


def read(page: str, row_values: Mapping[str, Any], **fields: object) -> "Sheet":
    """Return the claims of a page in claims.yaml, judged by the values of the page.

    ``row_values`` maps the id of each row of claims.yaml to what its verdict is based
    on:

    * for most rows ``(runs, by_seed)``: a `Run`, or a list of them, and one value per
      seed;
    * for a row with ``order`` the values by run, in the claimed order: ``{run:
      by_seed}``;
    * for a row with ``exact`` the result of `exactly`, or a tuple like `Exact`;
    * for a test of several arms alike, a dict of all of this by the arms' names. The
      table gets a line for each name, which fills in ``{each}`` of the statement.

    ``fields`` fill in the other braces of the statements. A row with ``run: false`` in
    claims.yaml has no value. Raises PageError for another row without one, and for a
    value without a row; and KeyError for a brace that nothing fills in.
    """
    sheet, rows = Sheet(page), verdict.rows(page)
    if unmatched := row_values.keys() ^ {row.id for row in rows if row.is_run}:
        name = min(unmatched)
        sides = "claims.yaml lists it, and the page gives it no value"
        if name in row_values:
            sides = (
                "the page gives it a value, and claims.yaml lists no such row to run"
            )
        raise PageError(
            f"Page {page} and claims.yaml differ in the row '{name}': {sides}."
        )
    for row in rows:
        value: Any = row_values.get(row.id)  # None for a row that nothing tests
        has_names = isinstance(value, Mapping) and not row.order
        basis_by_name = value if has_names else {"": value}  # by the names of the arms
        for name, basis in basis_by_name.items():
            # "{}" and these two stay: `Claim.sentence` fills them in
            known = fields | {"smallest": "{smallest}", "largest": "{largest}"}
            known["each"] = name
            texts: Any = {
                key: getattr(row, key).format("{}", **known)
                for key in ("tested", "reads", "never", "zero")
            }
            sheet.add(replace(row, id=f"{row.id} {name}".strip(), **texts), basis)
    return sheet


class Exact(NamedTuple):
    """The result of a row with ``exact``: in words, and at how many points it agrees.

    ``points`` is how many there are.
    """

    words: str
    agreeing: int
    points: int


def exactly(ours: str, checks: Iterable[bool]) -> Exact:
    """Return what `read` takes for a row with ``exact``.

    ``ours`` is the result in words and ``checks`` has one boolean per point, whether it
    agrees. Without points the row is "not run".
    """
    agree = list(map(bool, checks))
    return Exact(ours, agreeing=sum(agree), points=len(agree))


class Sheet(list[Claim]):
    """The judged claims of one page, in the order of claims.yaml.

    ``runs`` are the runs of all rows and ``own`` those of the main row. ``values`` has,
    by id, each row with its values by seed; rows with ``order`` or ``exact`` are left
    out.
    """

    def __init__(self, page: str):
        super().__init__()
        self.page = page
        self.runs: dict[Run, None] = {}  # of all rows, in order, each once
        self.own: list[Run] = []  # of the main row
        self.values: dict[str, tuple[Claim, BySeed]] = {}  # no order, nothing exact

    def add(self, row: Claim, basis: Any) -> None:
        """Append one row with its result.

        ``basis`` is what the values of `read` have for a row: ``(runs, by_seed)``,
        ``{run: by_seed}`` or an `Exact`, by the kind of the row, and None for a row
        that nothing tests yet. A row for which no seed has a value becomes
        "cannot tell" if all of its runs were trained, else "not run"; one with neither
        bounds nor order, as a measurement of ours, is left out then. In a rerun a row
        counts as without values unless all of its runs were trained.
        """
        if row.exact or not row.is_run:
            if basis:
                exact = Exact(*basis)  # as it may be a plain tuple
                row = replace(
                    row,
                    ours=exact.words,
                    held=exact.agreeing,
                    n=exact.points,
                    interval="exact",
                )
            self.append(row)
            return
        if row.order:
            values_by_run = basis
        else:
            runs, by_seed = basis
            self.values[row.id] = row, by_seed
            runs = [runs] if isinstance(runs, Run) else runs
            values_by_run = dict.fromkeys(runs, by_seed)  # all have the same values
        self.runs |= dict.fromkeys(values_by_run)
        if row.main:
            self.own += values_by_run.keys()
        names = tuple(f"{run.record.name}|{run.arm}" for run in values_by_run)
        row = replace(row, runs=names)
        tried = bool(values_by_run) and all(run.seeds for run in values_by_run)
        has_values = bool(values_by_run) and all(map(len, values_by_run.values()))
        # a share of eight arms says nothing in a rerun that trains one of them
        is_part = tables.is_rerun() and not tried
        if has_values and not is_part:
            self.append(with_result(row, values_by_run))
        elif row.bounds or row.order:
            ours = "no seed can test it" if tried else row.ours
            self.append(replace(row, tried=tried, ours=ours))

    def told(self, name: str, show: str = "") -> str:
        """Return the value of a row in words, for a sentence: "4,450 (4,100 to 5,000)".

        ``name`` is the row's id; for one of several arms it is followed by the arm's
        name, as in "at-the-end M+A*". ``show`` is the format of a value, by default
        that of the row; see `evidence.told`. A yes-or-no row is told as "yes in 2 of
        3". Raises KeyError for a row that ``values`` leaves out.
        """
        row, values = self.values[name]
        by_seed = Series(values, dtype=float)
        is_whole = len(by_seed) and by_seed.notna().all()  # else `told` says what lacks
        if row.show == YES_OR_NO and not show and is_whole:
            return f"yes in {by_seed.sum():.0f} of {len(by_seed)}"
        return evidence.told(by_seed, show or row.show)

    def box(self, answer: str = "", runs: Sequence[Run] = ()) -> Html:
        """Return the box at the top of a page.

        It has the ``answer`` of the page in plain words, whose paragraphs an empty line
        parts; the paper's words that the main row judges, with verdict, number of runs
        and what decides it; the size of the networks; the number of claims by verdict;
        what was trained, unless the networks have SEVERAL sizes or more; and the terms
        that the answer does not explain. If the answer is about other ``runs`` than
        those of the main row, what was trained is said of them, and the size is left
        out. In a rerun RERUN is in the place of the answer.
        """
        if tables.is_rerun():
            answer = RERUN
            if change.in_use:
                answer = f"With {change.in_use}, under the book's names. {RERUN}"
        main = self._main()
        marks = [] if runs else self._size_marks(main)  # lines below the judgement
        runs = runs or self.own  # after the line above, which is about `own` alone
        parts = [line(text, kind="answer") for text in answer.split("\n\n")]
        if main:  # neither a question nor measurements of ours alone
            parts.append(line(_badge(main), f" {_judgement(main)}", kind="judged"))
            if counts := _verdict_counts(self._shown()):
                marks.append(counts)
        parts += [line(mark, kind="marks") for mark in marks]
        sizes = {self._size(run) for run in runs}
        if runs and len(sizes) < SEVERAL:
            recipe = tables.recipe(run.settings for run in runs)
            parts.append(line(recipe, kind="recipe"))
        explained = f"{answer} {main.says if main else ''}"
        for term, meaning in tables.terms(explained, self.page):
            bold = Html(f"<b>{escape(term)}</b>", term)
            parts.append(line(bold, f": {meaning}", kind="term"))
        html = "".join(part.html for part in parts)
        text = "\n".join(part.text for part in parts if part.text)
        return Html(f"<div class='verdict-box'>{html}</div>", text)

    def _size_marks(self, main: Claim | None) -> list[str]:
        """Return what the box says of the size of the main row's networks, by line.

        ``main`` is that row, or None. Nothing is said of one without runs, as an exact
        one. Networks with a reader's own settings (``change.in_use``) are never said to
        be whole.
        """
        # the labels of runs by their size, which is "" for that of the paper
        labels_by_size: dict[str, list[str]] = {}
        for run in self.own:
            labels = labels_by_size.setdefault(self._size(run), [])
            labels.append(run.label or run.arm)
        is_whole = labels_by_size.keys() == {""} and not change.in_use
        if main and is_whole:
            # a chapter that is no paper has none that it could be smaller than
            chapters = {run.record.name.partition("/")[0] for run in self.own}
            return [WHOLE if chapters & project.part("papers").keys() else OURS]
        marks = []
        for size, labels in labels_by_size.items():
            owners = ""
            if len(labels_by_size) > 1:
                owners = f" ({'; '.join(dict.fromkeys(labels))})"
            if size:  # of the others there is nothing to say
                marks.append(f"Less than the paper's{owners}: {size}")
        return marks

    def closing(self, *records: Record) -> Html:
        """Return the end of a page: its claims, then folded what was trained and read.

        ``records`` are those that the page shows. A record without members is left out,
        and one that is given twice is shown once. The claims are in it as JSON too,
        with all that was read, for the checks of the book. A script prints them.
        """
        rows, cited, main = self._shown(), evidence.cited(), self._main()
        claims = {
            "page": self.page,
            "scale": main.scale if main else "paper",
            "verdict": main.verdict if main else "not judged",
            "claims": [row.as_plain() for row in rows],
            "registered": verdict.digest(self.page),
            "read": evidence.read(),
            "cited": cited,
        }
        shown = [*_table(rows), *_registered(rows)] if rows else []
        table = tables.joined(*shown, by="").html
        text = "\n".join(map(_row_text, rows))
        parts = [Html(table, text, {MIME: claims})]
        if not hasattr(builtins, "__IPYTHON__"):  # a page that runs as a script
            print(text)
        trained = {(record.name, record.scale): record for record in records if record}
        parts += map(tables.training_tables, trained.values())
        if trained or cited:
            provenance = tables.provenance(*trained.values(), references=cited)
            parts.append(fold("Where the numbers come from", provenance))
        return tables.joined(*parts)

    def _size(self, run: Run) -> str:
        """Return what a run has less of than the paper's, in words, or "" for nothing.

        The number of seeds is left out, since the box shows it beside the verdict.
        """
        reduced = SEEDS.sub("", run.record.experiment.reduced)
        if run.record.scale == "paper" and not reduced:
            return tables.reduced_length(run.record, run.arm)
        return reduced

    def _main(self) -> Claim | None:
        """Return the row with the page's verdict, as it is shown.

        None if no row is about a paper. Raises ValueError unless exactly one of the
        paper's rows is ``main``.
        """
        if all(row.beyond for row in self):  # also of a page without rows
            return None
        (main,) = [row for row in self._shown() if row.main and not row.beyond]
        return main

    def _shown(self) -> list[Claim]:
        """Return the rows to show: if any record is a smoke test, all as of one.

        A row of a smoke test is not judged.
        """
        if any(run.record.scale == "smoke" for run in self.runs):
            return [replace(row, scale="smoke", why="") for row in self]
        return self


def _table(rows: list[Claim]) -> list[Html]:
    """Return the table of the paper's claims, and the parts below it.

    These are a line about runs with fewer than three seeds, and the folded table of our
    own measurements, each only if there are any.
    """
    papers = [row for row in rows if not row.beyond]
    title = "The claims of the paper and what came of them"
    cells = map(_claim_cells, papers)
    parts = [grid(HEAD, cells, kind="claims", caption=title, hidden=True)]
    # of all rows, each once: `with_result` joins them with "; "
    reasons = [reason for row in papers for reason in row.why.split("; ") if reason]
    if few := "; ".join(dict.fromkeys(reasons)):
        parts.append(line(f"Fewer than three seeds: {few}.", kind="few"))
    if ours := [_measured_cells(row) for row in rows if row.beyond]:
        beyond = grid(MEASURED_HEAD, ours, kind="claims beyond")
        noun = "measurements" if len(ours) > 1 else "measurement"
        parts.append(fold(f"Beyond the paper: {len(ours)} {noun} of ours", beyond))
    return parts


def _registered(rows: list[Claim]) -> list[Html]:
    """Return when the tests were registered, and folded the tests that were changed.

    A change that several rows share is shown once, with the last of their tests. The
    list is empty if no row has a bound, for then nothing was fixed before the runs.
    """
    dates = sorted(row.registered.isoformat() for row in rows if row.bounds)
    # by (what was planned, what that gives, why it was changed)
    present_tests: dict[tuple[str, str, str], str] = {}
    for row in rows:
        for was in row.was:
            present_tests[was["planned"], was["gives"], was["reason"]] = row.tested
    if not dates:
        return []
    changed = [[tested, *earlier] for earlier, tested in present_tests.items()]
    period = " to ".join(dict.fromkeys([dates[0], dates[-1]]))
    title = f"Tests registered {period}; {len(changed) or 'none'} changed since"
    if not changed:
        return [line(f"{title}.", kind="registered")]
    return [folded(title, CHANGED, changed, kind="settings changed")]


# Words for how many claims have a verdict: for one claim, and for several.
VERDICT_TEXTS = {
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


def _verdict_counts(rows: list[Claim]) -> str:
    """Return how many of the paper's claims have each verdict, in words.

    ``rows`` are one or more, as they are shown. Claims beyond the paper, or judged on
    another page, do not count. The text is "" if fewer than two are left. In a smoke
    test it says that nothing is judged.
    """
    if rows[0].scale == "smoke":
        return "it runs, nothing is judged"
    claims = [row for row in rows if not (row.beyond or row.same_as)]
    # "holds, one seed, small" counts as "holds"
    counts = Counter(row.verdict.partition(",")[0] for row in claims)
    if len(claims) < 2:
        return ""
    texts = [
        (plural if counts[word] > 1 else singular).format(counts[word])
        for word, (singular, plural) in VERDICT_TEXTS.items()
        if counts[word]
    ]
    return f"Of the {len(claims)} claims of this page {', '.join(texts)}"


def _judgement(row: Claim) -> str:
    """Return the text after the badge of a row: runs, the paper's words, the result.

    It is as 'in 3 of 3 runs: “…”. What decides it: ….'; a part that is empty is left
    out.
    """
    text = f"“{row.says.rstrip('.')}”"
    if run_count := _run_count(row):
        text = f"{run_count}: {text}"
    return f"{text}. What decides it: {row.sentence}." if row.sentence else f"{text}."


def _run_count(row: Claim) -> str:
    """Return in how many runs a claim is true, as "true in 2 of 3 runs".

    The points of an exact one are cases. The text is "" if it has no verdict.
    """
    if row.scale == "smoke" or not row.n or outcome(row.verdict) == "idle":
        return ""
    noun = "case" if row.exact else "run"
    if row.n == 1:
        return f"in the only {noun}"
    if row.held == row.n:
        return f"in {row.n:,} of {row.n:,} {noun}s"
    return f"true in {row.held or 'none'} of {row.n:,} {noun}s"


def _result_text(row: Claim) -> str:
    """Return the result of a row with its range and its number of seeds.

    The number is "n = 3", or "holds in 2 of 3" if only some seeds support the claim.
    """
    spread = "" if row.interval == "—" else f"{row.interval}; "
    seeds = f"n = {row.n:,}"
    is_mixed = row.scale != "smoke" and 0 < row.held < row.n
    if is_mixed and "in order" not in row.interval:  # which says it already
        seeds = f"holds in {row.held:,} of {row.n:,}"
    return f"{row.sentence or row.ours} ({spread}{seeds})"


def _test_text(row: Claim) -> str:
    """Return how a row is tested, with the restrictions that a reader has to know."""
    text = row.tested
    for column, commit in row.measured_by.items():
        text += f" (column {column}: measured by commit {commit}, not by today's code)"
    if row.by_construction:
        text += f" (by construction: {row.by_construction})"
    return text


def _row_text(row: Claim) -> str:
    """Return a row as one line of plain text: quote, test, result, verdict."""
    quote = f"“{row.says}” ({row.where})" if row.says else "ours"
    return f"{quote} | {_test_text(row)} | {_result_text(row)} | {row.verdict}"


def _claim_cells(row: Claim) -> list[Cell]:
    """Return the cells of one of the paper's claims, one for each of HEAD."""
    quote = f"<q>{escape(row.says)}</q> <span>{escape(row.where)}</span>"
    return [Html(quote, row.says), *_measured_cells(row), _badge(row)]


def _measured_cells(row: Claim) -> tuple[Cell, ...]:
    """Return the cells of test, result, range and number of seeds.

    They are those of MEASURED_HEAD, and those of HEAD but the first and the last.
    """
    text = _test_text(row)
    test = f"<span id='{escape(verdict.anchor(row.id))}'>{escape(text)}</span>"
    return Html(test, text), row.sentence or row.ours, row.interval, f"{row.n:,}"


def _badge(row: Claim) -> Html:
    """Return the badge of a row's verdict, with the number of seeds as its title."""
    title = "" if row.scale == "smoke" else f"held in {row.held} of {row.n}"
    return Html(badge(row.verdict, title), row.verdict)
