"""What is wrong with the pages, one sentence each: `python -m book check`.

A page is in order when its twin was executed from its source as it is, names its figure
or table above its title, shows the claims that are registered, describes its figures,
stands in the contents, and read records and references that are still those of the
store. What it read is in its closing cell.

A *fault* is the end of a sentence whose subject is the page, without the full stop.
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
from typing import Any, TypeAlias

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
Entry: TypeAlias = dict[str, Any]  # a row of claims.yaml as it is written there
Version: TypeAlias = tuple[str, Entry]  # commit, "" for the working tree; its content


def check(page_ids: list[str] | None = None) -> list[str]:
    """Return what is wrong with some pages, or with the book, one sentence each."""
    problems = [f"{reason}." for reason in [history()] if reason]
    readable = []
    for page_id in page_ids or pages.sources():
        try:
            measures.tree(pages.find(page_id))
            verdict.rows(page_id)
            readable.append(page_id)
        except BookError as error:
            problems.append(str(error))
    if not page_ids:
        of_book = (*summaries.faults(), *summaries.landing_faults(), *_index_faults())
        of_book += (*teaching.faults(), *_unreadable_texts())
        problems += [f"{fault}." for fault in of_book]
    if readable:
        problems += [f"The function {fault}." for fault in _function_faults(readable)]
    for page_id in readable:
        try:
            problems += [f"Page {page_id} {fault}." for fault in _page_faults(page_id)]
        except BookError as error:
            problems.append(str(error))
    return problems


def _index_faults() -> Iterator[str]:
    """Yield a sentence if the table of experiments beside the records is an old one."""
    if not any(home().glob("book/*/experiments.py")):
        return
    table = records_folder() / EXPERIMENTS
    content = table.read_bytes() if table.is_file() else b""
    if content != experiments_as_lines(papers.every()).encode():
        place = notebooks.display_path(table)
        yield f"{place} is of other experiments: run 'python -m book index'"


def _unreadable_texts() -> Iterator[str]:
    """Yield a sentence for each .md that is not UTF-8, or has a conflict of git."""
    for path in sorted(home().glob("book/**/*.md")):
        if "generated" in path.parts:
            continue
        try:
            read_text(path)
        except BookError as error:
            yield str(error).removesuffix(".")


def toc_files() -> list[str]:
    """Return the value of every "file:" in _toc.yml, in order, however deep."""
    text = (home() / "_toc.yml").read_text(encoding="utf-8")
    return re.findall(r"^[ -]*file: (\S+)$", text, re.M)


def _page_faults(page_id: str) -> Iterator[str]:
    path = pages.find(page_id)
    place = path.relative_to(home() / "book").with_suffix(".ipynb").as_posix()
    if place not in toc_files():
        yield f"is not in _toc.yml: add 'file: {place}' to its chapter"
    twin = notebooks.read_twin(path)
    again = f": run 'python -m book execute {page_id}'"
    yield from (f"{fault}{again}" for fault in _execution_faults(path, twin))
    if (size := path.with_suffix(".ipynb").stat().st_size) > LARGEST:
        yield f"holds {size // 1000} kB; {LARGEST // 1000} are allowed"
    kicker, finding = notebooks.heading(twin)
    if kicker != (wanted := pages.kicker(page_id)) or not finding:
        yield f"does not begin with '# [{wanted}]{{.kicker}} The finding'"
    yield from _figure_faults(twin)
    closing = notebooks.closing(twin)
    if closing is notebooks.NO_CLAIMS:
        yield "shows no claims: close it with sheet.closing()"
    else:
        yield from (f"{fault}{again}" for fault in _stale(page_id, twin, closing))
        unmade = _unmade_by_run(closing["read"])
        yield from _unmeasurable(page_id, closing["claims"], unmade)
    yield from tops.faults(twin)
    yield from _unregistered(page_id)
    yield from _changed_tests(page_id, path)


def _execution_faults(path: Path, twin: NotebookNode) -> Iterator[str]:
    """Yield why a twin is not as an execution of its source left it."""
    if notebooks.inputs(notebooks.read_source(path)) != notebooks.inputs(twin):
        yield "differs between its .py and its .ipynb"
    digests = {
        "written": notebooks.written_digest(twin),
        "shown": notebooks.shown_digest(twin),
    }
    for name, current in digests.items():
        if twin.metadata.get("grokbook", {}).get(name) != current:
            yield f"is not as its execution left it ({name})"
    code = [c for c in twin.cells if c.cell_type == "code" and c.source.strip()]
    if any(cell.execution_count is None for cell in code):
        yield "has a cell that was never executed"
    if any(output.output_type == "error" for cell in code for output in cell.outputs):
        yield "holds an error output"


def _figure_faults(twin: NotebookNode) -> Iterator[str]:
    """Yield what the figures of a page lack: options in ``#|`` lines, `plots.show`."""
    for cell, _ in notebooks.outputs(twin, "image/png"):
        options, line = notebooks.display_options(cell), cell.source.splitlines()[-1]
        for option, (part, key) in notebooks.MYST_PLACES.items():
            if not options.get(part, {}).get(key):
                yield f"has a figure without a line '#| {option}:' ('{line}')"
        if not any(FIGURE_MIME in output.get("data", {}) for output in cell.outputs):
            yield f"has a figure not shown by plots.show ('{line}')"


def _unregistered(page_id: str) -> Iterator[str]:
    """Yield the rows whose measurement is not the registered one."""
    registered = measures.registered_rows(page_id)
    tested = {row.id: row for row in verdict.rows(page_id) if row.is_tested}
    for row_id in registered.keys() - tested.keys():
        yield (
            f"has a measurement of '{row_id}' in measurements.yaml, which tests nothing"
        )
    for row_id, row in tested.items():
        entry = registered.get(row_id, {})
        if not entry:
            again = f"run 'python -m book register {page_id}'"
            yield f"has no registered measurement of its row '{row_id}': {again}"
        elif entry["measure"] != measures.measurement(page_id, row_id).digest:
            yield (
                f"measures its row '{row_id}' otherwise than registered: put it back, "
                f"or run 'python -m book register {page_id} --same REASON' if every "
                "seed keeps its value, or move the old test to `was` and register it "
                "--was"
            )
        if len(entry.get("was", ())) > len(row.was):
            yield f"exchanged the measurement of '{row_id}' without a word in `was`"


def _function_faults(page_ids: Iterable[str] = ()) -> Iterator[str]:
    """Yield what is wrong with the functions behind tested rows, of all without ids.

    Each fault begins with the function, or with the page whose values it changed.
    """
    registered = measures.registered_functions()
    for name, code in measures.function_digests(page_ids).items():
        if name not in registered:
            yield f"{name} is not registered: run 'python -m book register'"
        elif registered[name]["measure"] != code:
            rows = measures.tested_rows(page_ids)
            count = sum(name in measures.measurement(*row).functions for row in rows)
            yield (
                f"{name}, behind {count} tested rows, is not as registered: run "
                "'python -m book register --same REASON' if every seed keeps its value"
            )
    versions = registries(measures.functions_file())
    for (after, new), (before, old) in pairwise(versions[:NEWEST]):
        shared = new.keys() & old.keys() & registered.keys()
        changed = {name for name in shared if new[name] != old[name]}
        for name in changed:
            old_digest = measures.as_entry(old[name])["measure"]
            if old_digest not in _same_digests(registered[name]):
                yield f"{name} was changed{_in_commit(after)} without a word"
        for page, row in measures.tested_rows(page_ids) if changed else ():
            if changed & {*measures.measurement(page, row).functions}:
                faults = _other_values(row, pages.find(page), after, before)
                yield from (f"behind page {page} {fault}" for fault in faults)


def _same_digests(entry: Entry) -> list[str]:
    """Return the earlier digests of a measurement by which no value is another."""
    return [same["measure"] for same in entry.get("same", ())]


def _in_commit(commit: str) -> str:
    return f" in {commit}" if commit else ""


def _changed_tests(page_id: str, path: Path) -> Iterator[str]:
    """Yield the tests that a commit changed, and of which claims.yaml does not tell.

    A change of a row is told if the newer version has more in ``was``, or if today's
    ``was`` or ``same`` lists the old wording.
    """
    registry = path.with_name("claims.yaml")
    versions = _versions(registry, page_id)
    rows_today = versions[0][1] if versions else {}
    recent = _recent_commits(registry)
    for row_id, today in rows_today.items():
        if not all(map(_is_complete, today.get("was", ()))):
            yield (
                f"does not say in `was` of its row '{row_id}' what was planned and why"
            )
        for (after, new), (_, old) in pairwise(_of_row(versions, row_id)):
            keys = (*TEST, *DECIDES) if after in recent else TEST
            changed = {key for key in keys if old.get(key) != new.get(key)}
            if not new.get("main"):
                changed -= {"main"}  # of which the row that took its place tells
            words = old.get("tested", "")
            is_told = (
                len(new.get("was", ())) > len(old.get("was", ()))
                or words in _listed(today, "was", "planned")
                or words in _listed(today, "same", "tested")
            )
            was_test = old.get("run", True) and HELD_TO & old.keys()
            if changed and was_test and not is_told:
                yield (
                    f"changed the test of its row '{row_id}'{_in_commit(after)}: the "
                    "old one goes to `was`"
                )
    yield from _changed_measurements(page_id, path)


@cache
def _recent_commits(path: Path) -> set[str]:
    """Return the commits of a file since ``DECIDES_SINCE``, and "" of today."""
    return {"", *_log(path, f"--since={DECIDES_SINCE}")}


def _is_complete(was: Entry) -> bool:
    """Return whether an entry of `was` has a plan and a reason in words, and a result.

    A single word is none.
    """
    texts = [str(was.get(key, "")) for key in ("planned", "reason")]
    return all(len(text.split()) > 1 for text in texts) and "gives" in was


def _listed(row: Entry, part: str, key: str) -> list[Any]:
    """Return the values of a key in the entries of a part ("was", "same") of a row."""
    return [entry.get(key) for entry in row.get(part, ())]


def _changed_measurements(page_id: str, path: Path) -> Iterator[str]:
    """Yield the measurements that a commit changed in silence, or not to the same."""
    versions = _versions(path.with_name("measurements.yaml"), page_id)
    for row_id, today in measures.registered_rows(page_id).items():
        for (after, new), (before, old) in pairwise(_of_row(versions, row_id)):
            old_digest = measures.as_entry(old)["measure"]
            if old_digest == measures.as_entry(new)["measure"]:
                continue
            if old_digest in _same_digests(today):
                yield from _other_values(row_id, path, after, before)
            elif old_digest not in today.get("was", ()):
                yield f"changed the measurement of its row '{row_id}' without a word"


def _of_row(versions: Iterable[Version], row_id: str) -> list[tuple[str, Any]]:
    """Return one row in the versions that have it, as it may be gone for a while."""
    return [(commit, rows[row_id]) for commit, rows in versions if row_id in rows]


def _other_values(row_id: str, path: Path, after: str, before: str) -> Iterator[str]:
    """Yield the seeds that have another value at one commit than at an earlier one."""
    new, old = _values(path, after, row_id), _values(path, before, row_id)
    for seed in new.keys() & old.keys():
        if new[seed] != old[seed]:
            change = f"{old[seed]} became {new[seed]}"
            yield (
                f"calls two measurements of '{row_id}' the same, but of {seed} {change}"
            )


def _values(path: Path, commit: str, row_id: str) -> dict[str, str]:
    """Return the values of a row by "row, seed" in the twin of a commit ("": today)."""
    return {
        f"{claim['id']}, {seed}": value
        for claim in _claims(path, commit)
        if _is_of(claim["id"], row_id)
        for seed, value in claim.get("values", {}).items()
    }


@cache  # of all rows of a page
def _claims(path: Path, commit: str) -> list[dict[str, Any]]:
    """Return the claims in the twin of a commit ("": today), none without a twin."""
    if not commit:
        return notebooks.closing(notebooks.read_twin(path))["claims"]
    text = _git(path, "show", f"{commit}:./{path.stem}.ipynb")
    return notebooks.closing(nbformat.v4.reads(text))["claims"] if text else []


def _versions(path: Path, page_id: str) -> list[Version]:
    """Return the rows of a page in each version of a .yaml of its folder."""
    name = page_id.partition("/")[2]
    return [(commit, content.get(name) or {}) for commit, content in registries(path)]


@cache
def registries(path: Path) -> list[Version]:
    """Return the versions of a .yaml: that of the working tree, then those of commits.

    The content is a mapping, mostly of rows by page. The list is empty without the
    file.
    """
    if not path.is_file():
        return []
    commits = _log(path)
    texts = [path.read_text(encoding="utf-8"), *_texts(path, commits)]
    known_parts: dict[str, Entry] = {}
    versions = zip(["", *commits], texts, strict=True)
    return [(commit, _parsed(text, known_parts)) for commit, text in versions]


def _texts(path: Path, commits: Iterable[str]) -> Iterator[str]:
    """Yield a file as each commit has it, "" of one without it, by one call of git."""
    request = "".join(f"{commit}:./{path.name}\n" for commit in commits)
    reply = io.BytesIO(_git(path, "cat-file", "--batch", stdin=request).encode())
    while line := reply.readline():
        *_, size = line.decode().split()  # or "missing"
        if size.isdecimal():
            yield reply.read(int(size)).decode()
            reply.readline()  # a line end follows each file
        else:
            yield ""


def _parsed(text: str, known_parts: dict[str, Entry]) -> Entry:
    """Return the mapping in a version of a .yaml.

    A commit changes a page or two. So the text is parsed in parts, which begin at each
    line that is not indented, and ``known_parts`` keeps those of earlier calls.
    """
    content: Entry = {}
    try:
        for part in re.split(r"^(?=[^\s#])", text, flags=re.M):
            if part not in known_parts:
                known_parts[part] = yaml.load(part, yaml.CSafeLoader) or {}
            content |= known_parts[part]
    except yaml.YAMLError:  # one part needs another, or the whole is not YAML
        return yaml.load(text, yaml.CSafeLoader) or {}
    return content


def _log(path: Path, *options: str) -> list[str]:
    """Return the commits that changed a file, the newest first, a merge as one change.

    Commits of two branches, sorted by date, would seem to change it to and fro.
    """
    log = ("log", "--first-parent", "--format=%h", *options)
    return _git(path, *log, "--", path.name).split()


def _git(path: Path, *arguments: str, stdin: str = "") -> str:
    """Return what git prints, run in the folder of a file; "" if it fails."""
    result = subprocess.run(
        ["git", *arguments], cwd=path.parent, input=stdin.encode(), capture_output=True
    )
    return result.stdout.decode()


def pages_changed(since: str) -> list[str]:
    """Return the pages with a row that showed another value at a commit.

    CHANGELOG.md names them. Raises PageError if git does not have the commit.
    """
    request = "rev-parse", "--verify", f"{since}^{{commit}}"
    if "\0" in since or not _git(home() / "book", *request):
        raise PageError(f"git has no commit {since!r} here: fetch it, or name another")
    page_ids = []
    for page_id, path in pages.sources().items():
        twin = path.with_suffix(".ipynb")
        if text := _git(twin, "show", f"{since}:./{twin.name}"):
            old = _shown_values(nbformat.v4.reads(text))
            new = _shown_values(notebooks.read_twin(path))
            if any(old[row] != new[row] for row in old.keys() & new.keys()):
                page_ids.append(page_id)
    return page_ids


def _shown_values(twin: NotebookNode) -> dict[str, str]:
    """Return the value that a page shows in each row of its claims, by row."""
    claims = notebooks.closing(twin)["claims"]
    # in the oldest commits claims have no id
    return {claim["id"]: claim["ours"] for claim in claims if "id" in claim}


def history() -> str:
    """Return why earlier commits cannot all be compared here, "" if they can."""
    is_shallow = _git(home() / "book", "rev-parse", "--is-shallow-repository")
    if is_shallow.strip() == "true":
        return (
            "this clone is shallow, so that a bound or a measurement that an earlier "
            "commit changed cannot be seen: run 'git fetch --unshallow'"
        )
    return ""


def _stale(page_id: str, twin: NotebookNode, closing: dict[str, Any]) -> Iterator[str]:
    """Yield where a page is older than the store and than the paper's .yaml files."""
    text = "\n".join(text for _, text in notebooks.outputs(twin, "text/plain"))
    try:
        for read in closing["read"]:
            members, _ = _recorded(read)
            now = evidence.record_identity(
                members, asked=read["asked"], arms=read["arms"]
            )
            if changed := [key for key in now if now[key] != read.get(key)]:
                parts = " and ".join(changed)
                yield f"read {read['record']} when its {parts} were others"
            command = f"grokbook run {read['record']} --scale {read['scale']}"
            if command in text and tables.training_tables(members).text not in text:
                yield f"shows other settings of {read['record']} than there are now"
        for cited in closing["cited"]:
            evidence.reference(cited["name"])  # the file is the listed one
            if evidence.source(cited["name"])["sha256"] != cited["sha256"]:
                yield f"cites another {cited['name']} than there is now"
        folder, _, name = page_id.partition("/")
        registry = home() / "book" / folder / "claims.yaml"
        registered = closing.get("registered")
        if closing["page"] != page_id:  # as in a copy
            yield (
                f"shows the claims of {closing['page']} (write '{name}:' with its own "
                f"into book/{folder}/claims.yaml, and its id into `evidence.Page`)"
            )
        elif registered and registry.is_file() and registered != digest(page_id):
            yield "was executed with other claims than are registered now"
    except BookError as error:
        yield f"rests on what cannot be used ({str(error).rstrip('.')})"


def _recorded(read: dict[str, Any]) -> tuple[Record, dict[str, set[str]]]:
    """Return `_loaded` of the record that a page would read today.

    ``read`` is an entry of its list "read", see `evidence.record_identity`.
    """
    name, scale = read["record"], read["asked"]
    if scale == "best":
        scale = papers.best(name, read["arms"]).scale
    return _loaded(name, scale)


@cache  # of all pages that read it
def _loaded(name: str, scale: str) -> tuple[Record, dict[str, set[str]]]:
    """Return a record without its measured columns, and its `_unmade`."""
    record = papers.record(name, scale=scale)
    members = replace(record, frame=record.frame[["arm", "seed", "epoch"]])
    return members, _unmade(record)


def _unmade(record: Record) -> dict[str, set[str]]:
    """Return the columns of each run that its arm's observables do not make today.

    Runs are named "<experiment>|<arm>", columns by what is before their first dot.
    """
    names.observables()  # registers them
    unmade = {}
    for arm, rows in record.frame.groupby("arm", observed=True):
        stems = {
            column.partition(".")[0] for column in rows.columns[rows.notna().any()]
        }
        settings = record.experiment.arm(str(arm))
        made = observing.stems([*settings.observables, *settings.rare_observables])
        unmade[f"{record.name}|{arm}"] = stems - made - {"arm", "seed", "epoch"}
    return unmade


def _unmade_by_run(reads: Iterable[dict[str, Any]]) -> dict[str, set[str]]:
    """Return `_unmade` of all records that a page read and that can be read today."""
    unmade: dict[str, set[str]] = {}
    for read in reads:
        with suppress(BookError):  # of these `_stale` tells
            unmade |= _recorded(read)[1]
    return unmade


def _unmeasurable(
    page_id: str, claims: Iterable[dict[str, Any]], unmade: dict[str, set[str]]
) -> Iterator[str]:
    """Yield rows that rest on a column which their runs would not have today.

    ``claims`` are those of the twin, which name their runs. A row may say so in
    ``measured_by``.
    """
    runs_of = {claim["id"]: claim.get("runs", ()) for claim in claims}
    for row in verdict.rows(page_id):
        if not row.is_tested:
            continue
        unmade_stems: set[str] = set()
        for claim_id, runs in runs_of.items():
            if _is_of(claim_id, row.id):
                unmade_stems = unmade_stems.union(*(unmade.get(r, ()) for r in runs))
        if not unmade_stems:
            continue
        strings = measures.measurement(page_id, row.id).strings
        used = {string.partition(".")[0] for string in strings} & unmade_stems
        for stem in sorted(used - row.measured_by.keys()):
            yield (
                f"rests its row '{row.id}' on the column {stem}, which no observable "
                "of its runs makes: say in `measured_by` which commit did"
            )


def _is_of(claim_id: str, row_id: str) -> bool:
    """Return whether a claim on a page is of a row of claims.yaml.

    A row for several arms has a claim for each, whose id ends in the arm's name.
    """
    return claim_id == row_id or claim_id.startswith(f"{row_id} ")
