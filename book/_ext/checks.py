"""What is wrong with the pages, one sentence each: `python -m book check`.

A page is in order when its twin was executed from its source as it is, names its figure
or table above its title, shows the claims that are registered, describes its figures,
stands in the contents, and read records and references that are still those of the
store. What it read is in its closing cell.
"""

import io
import re
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
import yaml
from nbformat import NotebookNode

from book._ext import measures, notebooks, pages, summaries, teaching, tops
from claimbook import evidence, names, observing, papers, tables
from claimbook.claims import verdict
from claimbook.claims.verdict import BOUNDS, digest
from claimbook.errors import BookError, PageError
from claimbook.project import FIGURE_MIME, home, read_text, records_folder
from claimbook.records import EXPERIMENTS, Record, experiments_as_lines

LARGEST = 610_000  # bytes of an executed page
TEST = ("tested", *BOUNDS)  # of a row, what a result must not change
# What else decides a verdict, or what it is of; compared in commits since this moment.
DECIDES = (
    *("says", "main", "run", "order", "open_end"),
    *("exact", "extra", "same_as", "by_construction"),
)
DECIDES_SINCE = "2026-11-28T11:00:00Z"
NEWEST = 4  # versions of functions.yaml between which values are compared
HELD_TO = {*BOUNDS, "order", "exact"}  # what makes a row a test
Entry = dict[str, Any]  # a row of claims.yaml as it is written there
LINES = (("figure", "caption"), ("figure", "name"), ("image", "alt"))


def check(page_ids: list[str] | None = None) -> list[str]:
    """What is wrong with the pages (all of them unless named): one sentence each."""
    found = [f"{sentence}." for sentence in [history()] if sentence]
    readable = []
    for page_id in page_ids or pages.sources():
        try:
            measures.tree(pages.find(page_id))
            verdict.rows(page_id)
            readable.append(page_id)
        except BookError as error:
            found.append(str(error))
    if not page_ids:
        whole = (*summaries.faults(), *summaries.landing_faults(), *_unwritten())
        whole += (*teaching.faults(), *_unreadable())
        found += [f"{fault}." for fault in whole]
    if readable:
        found += [f"The function {fault}." for fault in _functions(readable)]
    for page_id in readable:
        try:
            found += [f"Page {page_id} {fault}." for fault in _faults(page_id)]
        except BookError as error:
            found.append(str(error))
    return found


def _unwritten() -> Iterator[str]:
    """Whether the table of recorded experiments is not as the experiments are."""
    if not any(home().glob("book/*/experiments.py")):
        return
    table = records_folder() / EXPERIMENTS
    text = table.read_bytes() if table.is_file() else b""
    if text != experiments_as_lines(papers.every()).encode():
        place = notebooks.place(table)
        yield f"{place} is of other experiments: run 'python -m book index'"


def _unreadable() -> Iterator[str]:
    """Texts in Markdown that are not UTF-8, or in which git left a conflict."""
    texts = home().glob("book/**/*.md")
    for path in sorted(path for path in texts if "generated" not in path.parts):
        try:
            read_text(path)
        except BookError as error:
            yield str(error).removesuffix(".")


def chapters() -> list[str]:
    """Every `file:` of _toc.yml, however deep."""
    text = (home() / "_toc.yml").read_text(encoding="utf-8")
    return re.findall(r"^[ -]*file: (\S+)$", text, re.M)


def _faults(page_id: str) -> Iterator[str]:
    path = pages.find(page_id)
    place = path.relative_to(home() / "book").with_suffix(".ipynb").as_posix()
    if place not in chapters():
        yield f"is not in _toc.yml: add 'file: {place}' to its chapter"
    source, twin = notebooks.read_source(path), notebooks.read_twin(path)
    again = f": run 'python -m book execute {page_id}'"
    if notebooks.given(source) != notebooks.given(twin):
        yield f"differs between its .py and its .ipynb{again}"
    about = twin.metadata.get("grokbook", {})
    for seen in (notebooks.written, notebooks.shown):
        if about.get(name := seen.__name__) != seen(twin):
            yield f"is not as its execution left it ({name}){again}"
    code = [c for c in twin.cells if c.cell_type == "code" and c.source.strip()]
    if any(cell.execution_count is None for cell in code):
        yield f"has a cell that was never executed{again}"
    if any(output.output_type == "error" for cell in code for output in cell.outputs):
        yield f"holds an error output{again}"
    if (size := path.with_suffix(".ipynb").stat().st_size) > LARGEST:
        yield f"holds {size // 1000} kB; {LARGEST // 1000} are allowed"
    kicker, finding = notebooks.heading(twin)
    if kicker != (wanted := pages.kicker(page_id)) or not finding:
        yield f"does not begin with '# [{wanted}]{{.kicker}} The finding'"
    for cell, _ in notebooks.outputs(twin, "image/png"):
        shown, line = notebooks.shown_as(cell), cell.source.splitlines()[-1]
        for part, key in LINES:
            if not shown.get(part, {}).get(key):
                yield f"has a figure without a line '#| {key}:' ('{line}')"
        if not any(FIGURE_MIME in o.get("data", {}) for o in cell.outputs):
            yield f"has a figure not shown by plots.show ('{line}')"
    if claims := notebooks.claims_of(twin):
        yield from (f"{fault}{again}" for fault in _stale(page_id, twin, claims))
        yield from _unmeasurable(page_id, claims["claims"], _unmade_of(claims))
    else:
        yield "shows no claims: close it with sheet.closing()"
    yield from tops.faults(twin)
    yield from _unregistered(page_id)
    yield from _exchanged(page_id, path)


def _unregistered(page_id: str) -> Iterator[str]:
    """Rows whose measurement is not the registered one."""
    known = measures.registered(page_id)
    tested = {row.id: row for row in verdict.rows(page_id) if row.is_tested}
    for gone in known.keys() - tested.keys():
        yield f"has a measurement of '{gone}' in measurements.yaml, which tests nothing"
    for key, row in tested.items():
        entry = known.get(key, {})
        if not entry:
            again = f"run 'python -m book register {page_id}'"
            yield f"has no registered measurement of its row '{key}': {again}"
        elif entry["measure"] != measures.measurement(page_id, key).digest:
            yield (
                f"measures its row '{key}' otherwise than registered: put it back, or "
                f"run 'python -m book register {page_id} --same REASON' if every seed "
                "keeps its value, or move the old test to `was` and register it --was"
            )
        if len(entry.get("was", ())) > len(row.was):
            yield f"exchanged the measurement of '{key}' without a word in `was`"


def _functions(page_ids: Iterable[str] = ()) -> Iterator[str]:
    """Functions behind tested values that are not as they are registered."""
    known, now = measures.registered_functions(), measures.functions(page_ids)
    for name, code in now.items():
        if name not in known:
            yield f"{name} is not registered: run 'python -m book register'"
        elif known[name]["measure"] != code:
            rows = [row for row in measures.tested(page_ids) if name in _behind(row)]
            yield (
                f"{name}, behind {len(rows)} tested rows, is not as registered: run "
                "'python -m book register --same REASON' if every seed keeps its value"
            )
    versions = registries(measures.functions_file())
    for (after, new), (before, old) in pairwise(versions[:NEWEST]):
        changed = {
            n for n in new.keys() & old.keys() & known.keys() if new[n] != old[n]
        }
        for name in changed:
            then = measures.entry(old[name])["measure"]
            if then not in [one["measure"] for one in known[name].get("same", ())]:
                yield f"{name} was changed{_where(after)} without a word"
        for page, row in measures.tested(page_ids) if changed else ():
            if changed & {*_behind((page, row))}:
                faults = _other_values(row, pages.find(page), after, before)
                yield from (f"behind page {page} {fault}" for fault in faults)


def _behind(row: tuple[str, str]) -> tuple[str, ...]:
    return measures.measurement(*row).functions


def _where(commit: str) -> str:
    return f" in {commit}" if commit else ""


def _exchanged(page_id: str, path: Path) -> Iterator[str]:
    """Tests that a commit changed, and of which nobody is told today."""
    versions = _versions(path.with_name("claims.yaml"), page_id)
    rows_today = versions[0][1] if versions else {}
    recent = _recent(path.with_name("claims.yaml"))
    for key, today in rows_today.items():
        if not all(map(_is_said, today.get("was", ()))):
            yield f"does not say in `was` of its row '{key}' what was planned and why"
        for (after, now), (_, before) in pairwise(_having(versions, key)):
            parts = (*TEST, *DECIDES) if after in recent else TEST
            changed = {part for part in parts if before.get(part) != now.get(part)}
            if not now.get("main"):
                changed -= {"main"}  # of which the row that took its place tells
            is_told = len(now.get("was", ())) > len(before.get("was", ()))
            is_told |= _is_listed(before, today.get("was", ()), "planned")
            is_told |= _is_listed(before, today.get("same", ()), "tested")
            is_tested = before.get("run", True) and HELD_TO & before.keys()
            if changed and is_tested and not is_told:
                told = "the old one goes to `was`"
                yield f"changed the test of its row '{key}'{_where(after)}: {told}"
    yield from _remeasured(page_id, path)


@cache
def _recent(path: Path) -> set[str]:
    """Commits of a file in which all that decides a verdict is compared, and ""."""
    return {"", *_log(path, f"--since={DECIDES_SINCE}")}


def _is_said(exchanged: Entry) -> bool:
    """Whether an entry of `was` has a plan and a reason in words, and a result."""
    texts = [str(exchanged.get(key, "")) for key in ("planned", "reason")]
    return all(len(text.split()) > 1 for text in texts) and "gives" in exchanged


def _is_listed(row: Entry, entries: Iterable[Entry], key: str) -> bool:
    return any(entry.get(key) == row["tested"] for entry in entries)


def _remeasured(page_id: str, path: Path) -> Iterator[str]:
    """Measurements that a commit changed in silence, or that are not the same."""
    today = measures.registered(page_id)
    versions = _versions(path.with_name("measurements.yaml"), page_id)
    for key in today:
        for (after, new), (before, old) in pairwise(_having(versions, key)):
            then = measures.entry(old)["measure"]
            if then == measures.entry(new)["measure"]:
                continue
            same = [one["measure"] for one in today[key].get("same", ())]
            if then in same:
                yield from _other_values(key, path, after, before)
            elif then not in today[key].get("was", ()):
                yield f"changed the measurement of its row '{key}' without a word"


def _having(versions: Iterable[tuple[str, Entry]], key: str) -> list[tuple[str, Any]]:
    """A row in the versions that have it, so that it may be gone for a while."""
    return [(commit, rows[key]) for commit, rows in versions if key in rows]


def _other_values(key: str, path: Path, after: str, before: str) -> Iterator[str]:
    """Seeds that have another value by a new measurement than by the old one."""
    now, then = _values(path, after, key), _values(path, before, key)
    for seed in now.keys() & then.keys():
        if now[seed] != then[seed]:
            told = f"{then[seed]} became {now[seed]}"
            yield f"calls two measurements of '{key}' the same, but of {seed} {told}"


def _values(path: Path, commit: str, key: str) -> dict[str, str]:
    """The values of a row by "row|seed" in the twin of a commit ("": of today)."""
    mine = [row for row in _claims(path, commit) if _is_of(row["id"], key)]
    every = {row["id"]: row.get("values", {}) for row in mine}
    return {f"{k}, {seed}": v for k, one in every.items() for seed, v in one.items()}


@cache  # of all rows of a page
def _claims(path: Path, commit: str) -> list[dict[str, Any]]:
    """The claims that the twin of a commit carries ("": that of today)."""
    if commit:
        text = _git(path, "show", f"{commit}:./{path.stem}.ipynb")
        twin = nbformat.v4.reads(text) if text else None
    else:
        twin = notebooks.read_twin(path)
    claims = notebooks.claims_of(twin) if twin else None
    return (claims or {"claims": []})["claims"]


def _versions(path: Path, page_id: str) -> list[tuple[str, dict[str, Any]]]:
    """The rows of a page in a .yaml of its chapter, the newest first, by commit."""
    name = page_id.partition("/")[2]
    return [(commit, every.get(name) or {}) for commit, every in registries(path)]


@cache
def registries(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """A .yaml as it is, and as every commit of it has it: (commit, rows by page).

    The commit of what is in the working tree is "".
    """
    if not path.is_file():
        return []
    commits = _log(path)
    texts = [path.read_text(encoding="utf-8"), *_texts(path, commits)]
    parts: dict[str, Entry] = {}
    versions = zip(["", *commits], texts, strict=True)
    return [(commit, _rows(text, parts)) for commit, text in versions]


def _texts(path: Path, commits: Iterable[str]) -> Iterator[str]:
    """A file as each of these commits has it, by one call of git; "" where none is."""
    asked = "".join(f"{commit}:./{path.name}\n" for commit in commits)
    answer = io.BytesIO(_git(path, "cat-file", "--batch", given=asked).encode())
    while line := answer.readline():
        *_, size = line.decode().split()  # or "missing"
        yield answer.read(int(size)).decode() if size.isdecimal() else ""
        if size.isdecimal():
            answer.readline()


def _rows(text: str, parts: dict[str, Entry]) -> dict[str, Any]:
    """The rows by page in a version of a .yaml.

    A commit changes a page or two. So the text is read in parts, which begin where a
    line does with no blank, and ``parts`` has those that were read before.
    """
    every: dict[str, Any] = {}
    try:
        for part in re.split(r"^(?=[^\s#])", text, flags=re.M):
            if part not in parts:
                parts[part] = yaml.load(part, yaml.CSafeLoader) or {}
            every |= parts[part]
    except yaml.YAMLError:  # one part needs another, or the whole is not YAML
        return yaml.load(text, yaml.CSafeLoader) or {}
    return every


def _log(path: Path, *options: str) -> list[str]:
    """The commits that changed a file, the newest first, each merge as one change.

    Commits of two branches, sorted by date, would seem to change it to and fro.
    """
    log = ("log", "--first-parent", "--format=%h", *options)
    return _git(path, *log, "--", path.name).split()


def _git(path: Path, *words: str, given: str = "") -> str:
    """What git prints, asked in the folder of a file; "" where it knows of nothing.

    ``given`` is what git reads.
    """
    command = ["git", *words]
    asked = given.encode()
    made = subprocess.run(command, cwd=path.parent, input=asked, capture_output=True)
    return made.stdout.decode()


def changed(since: str) -> list[str]:
    """The pages with a row that showed another value at a commit, for CHANGELOG.md.

    Raises PageError if git does not have the commit.
    """
    asked = "rev-parse", "--verify", f"{since}^{{commit}}"
    if "\0" in since or not _git(home() / "book", *asked):
        raise PageError(f"git has no commit {since!r} here: fetch it, or name another")
    found = []
    for page_id, path in pages.sources().items():
        twin = path.with_suffix(".ipynb")
        if before := _git(twin, "show", f"{since}:./{twin.name}"):
            old = _shown_values(nbformat.v4.reads(before))
            new = _shown_values(notebooks.read_twin(path))
            if any(old[row] != new[row] for row in old.keys() & new.keys()):
                found.append(page_id)
    return found


def _shown_values(notebook: NotebookNode) -> dict[str, str]:
    """The value that a page shows in each row of its claims, by the id of the row."""
    carried = notebooks.claims_of(notebook) or {"claims": ()}
    claims = (claim for claim in carried["claims"] if "id" in claim)  # once none had
    return {claim["id"]: claim["ours"] for claim in claims}


def history() -> str:
    """Why tests that were changed cannot all be seen here; "" where they can."""
    if not (shallow := _git(home() / "book", "rev-parse", "--is-shallow-repository")):
        return ""
    if shallow.strip() == "true":
        return (
            "this clone is shallow, so that a bound or a measurement that an earlier "
            "commit changed cannot be seen: run 'git fetch --unshallow'"
        )
    return ""


def _stale(page_id: str, twin: NotebookNode, claims: dict[str, Any]) -> Iterator[str]:
    """What the store and the paper's .yaml files say now, and the page does not."""
    text = "\n".join(text for _, text in notebooks.outputs(twin, "text/plain"))
    try:
        for read in claims["read"]:
            today = _stored(read["record"], read["asked"], tuple(read["arms"]))
            now = today.described
            if changed := [key for key in now if now[key] != read.get(key)]:
                told = " and ".join(changed)
                yield f"read {read['record']} when its {told} were others"
            made = f"grokbook run {read['record']} --scale {read['scale']}"
            if made in text and tables.training_tables(today.members).text not in text:
                yield f"shows other settings of {read['record']} than there are now"
        for cited in claims["cited"]:
            evidence.reference(cited["name"])  # the file is the listed one
            if evidence.source(cited["name"])["sha256"] != cited["sha256"]:
                yield f"cites another {cited['name']} than there is now"
        registry = home() / "book" / page_id.partition("/")[0] / "claims.yaml"
        known = (None, digest(page_id)) if registry.is_file() else ()
        if known and claims.get("registered") not in known:
            yield "was executed with other claims than are registered now"
    except BookError as error:
        yield f"rests on what cannot be used ({str(error).rstrip('.')})"


def _unmade(found: Record) -> dict[str, set[str]]:
    """By run, the stems of its columns that its arm's observables do not make today."""
    rows, unmade = found.frame, {}
    for arm, part in rows.groupby("arm", observed=True):
        stems = {one.partition(".")[0] for one in part.columns[part.notna().any()]}
        settings = found.experiment.arm(str(arm))
        asked = (*settings.observables, *settings.rare_observables)
        names.observables()  # registers them
        made = observing.stems(asked)
        gone = stems - made - {"arm", "seed", "epoch"}
        unmade[f"{found.name}|{arm}"] = gone
    return unmade


def _unmade_of(claims: dict[str, Any]) -> dict[str, set[str]]:
    """The same of all that a page read; of what cannot be read `_stale` tells."""
    unmade: dict[str, set[str]] = {}
    for read in claims["read"]:
        with suppress(BookError):
            asked = read["record"], read["asked"], tuple(read["arms"])
            unmade |= _stored(*asked).unmade
    return unmade


def _unmeasurable(
    page_id: str, carried: Iterable[dict[str, Any]], unmade: dict[str, set[str]]
) -> Iterator[str]:
    """Rows that rest on a column which their runs would not have today, in silence."""
    runs = {one["id"]: {*one.get("runs", ())} for one in carried}
    for row in verdict.rows(page_id):
        if not row.is_tested:
            continue
        mine = {
            name for key, names in runs.items() if _is_of(key, row.id) for name in names
        }
        gone = set().union(*(unmade.get(name, set()) for name in mine))
        words = measures.measurement(page_id, row.id).words if gone else set()
        used = {word.partition(".")[0] for word in words} & gone
        for stem in sorted(used - row.measured_by.keys()):
            yield (
                f"rests its row '{row.id}' on the column {stem}, which no observable "
                "of its runs makes: say in `measured_by` which commit did"
            )


def _is_of(key: str, row: str) -> bool:
    """Whether a row as a page shows it is this entry of claims.yaml, or one `each`."""
    return key == row or key.startswith(f"{row} ")


class _Stored(NamedTuple):
    """What a page would read today if it asked for the same."""

    described: dict[str, Any]
    unmade: dict[str, set[str]]
    members: Record  # without what was measured


@cache
def _stored(name: str, asked: str, arms: tuple[str, ...]) -> _Stored:
    scale = papers.best(name, arms).scale if asked == "best" else asked
    members, unmade = _loaded(name, scale)
    return _Stored(
        evidence.record_identity(members, asked=asked, arms=arms), unmade, members
    )


@cache  # of all pages that read it
def _loaded(name: str, scale: str) -> tuple[Record, dict[str, set[str]]]:
    """The record of an experiment without what was measured, and its `_unmade`."""
    found = papers.record(name, scale=scale)
    members = replace(found, frame=found.frame[["arm", "seed", "epoch"]])
    return members, _unmade(found)
