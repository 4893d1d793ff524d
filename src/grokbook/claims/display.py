"""How claims are shown: the box at the head of a page, and its table of claims.

The table carries the claims as JSON too, with the records and references that the page
read, for the book's scoreboard and its checks.
"""

from collections.abc import Sequence
from html import escape

from grokbook import evidence, tables
from grokbook.claims.claim import Claim, main
from grokbook.claims.verdict import badge
from grokbook.evidence import Run
from grokbook.project import CLAIMS_MIME as MIME
from grokbook.records import Record
from grokbook.tables import Html, fold, markup

HEAD = ("The paper says", "Tested as", "Here (median)", "Range", "n", "Verdict")
CHANGED = ("Tested as", "Planned", "What that gives", "Why it was changed")
BEYOND = ("Measured", "Here (median)", "Range", "n")


def _table(claims: Sequence[Claim], page: str) -> Html:
    """The paper's claims, and folded what is beyond it; as JSON for the scoreboard."""
    papers = [claim for claim in claims if not claim.extra]
    ours = [claim for claim in claims if claim.extra]
    title = "The claims of the paper and what came of them"
    html = markup(HEAD, map(_row, papers), kind="claims", caption=title, hidden=True)
    why = [run for claim in papers for run in claim.why.split("; ") if run]
    if few := "; ".join(dict.fromkeys(why)):
        html += f"<p class='few'>Fewer than three seeds: {escape(few)}.</p>"
    if ours:
        beyond = markup(BEYOND, map(_measured, ours), kind="claims beyond")
        many = "measurements" if len(ours) > 1 else "measurement"
        html += fold(f"Beyond the paper: {len(ours)} {many} of ours", beyond)
    shown = Html(html + _registered(claims), "\n".join(map(_line, claims)))
    carrier = main(list(claims))
    shown.beside[MIME] = {
        "page": page,
        "scale": carrier.scale,
        "verdict": carrier.verdict,
        "claims": [claim.to_json() for claim in claims],
        "read": evidence.read(),
        "cited": evidence.cited(),
    }
    return shown


def closing(claims: Sequence[Claim], page: str, records: Sequence[Record]) -> Html:
    """The same, and folded what was run and where the numbers come from."""
    parts = [_table(claims, page), *map(tables.trained, records)]
    if records or evidence.cited():
        made = tables.provenance(*records, references=evidence.cited())
        title = "Where the numbers come from"
        parts.append(Html(fold(title, made.html), f"{title}\n{made.text}"))
    return tables.joined(*parts)


def box(claims: Sequence[Claim], runs: Sequence[Run]) -> Html:
    """The main claim in the paper's words, what came out, and on how many runs."""
    one = main(list(claims))
    lines = {
        "Claim": f"“{one.quote}” ({one.where})",
        "Result": f"{one.statement}: {_found(one)}",
        "Evidence": _evidence(claims, runs, one.scale),
    }
    plain = "\n".join(f"{name}: {line}" for name, line in lines.items())
    shown = {name: escape(line) for name, line in lines.items()}
    shown["Result"] = f"{_badge(one).html} {shown['Result']}"
    html = "".join(
        f"<p><b>{name}</b> <span>{line}</span></p>" for name, line in shown.items()
    )
    return Html(f"<div class='verdict-box'>{html}</div>", f"{one.verdict}\n{plain}")


def _evidence(claims: Sequence[Claim], runs: Sequence[Run], scale: str) -> str:
    """How many claims hold, with how many seeds, at which scale, on what."""
    if scale == "smoke":
        return "; ".join(["it runs, nothing is judged", *_places(runs)])
    judged = [claim for claim in claims if claim.judged]
    holding = sum(claim.holds for claim in judged)
    said = [f"{holding} of {len(judged)} claims of the paper hold"]
    if idle := sum(claim.verdict == "not run" for claim in claims):
        said.append(f"{idle} not run")
    if seeds := [claim.n for claim in judged if not claim.exact]:
        ends = dict.fromkeys((min(seeds), max(seeds)))
        said.append(f"n = {' to '.join(map(str, ends))}")
    return "; ".join([*said, *(_places(runs) or ["exact, nothing was trained"])])


def _places(runs: Sequence[Run]) -> list[str]:
    """The scales of the records that the runs belong to, each with its devices."""
    found: dict[str, set[str]] = {}
    for run in (run for run in runs if run.record):
        about = run.record.members.values()
        devices = found.setdefault(run.record.scale, set())
        devices.update(one["device_name"].split("(R)")[0] for one in about)
    return [
        f"{scale} scale ({', '.join(sorted(names))})" for scale, names in found.items()
    ]


def _found(claim: Claim) -> str:
    spread = "" if claim.interval == "—" else f"{claim.interval}; "
    seeds = f"n = {claim.n:,}"
    some = claim.scale != "smoke" and 0 < claim.held < claim.n
    if some and "in order" not in claim.interval:
        seeds = f"holds in {claim.held:,} of {claim.n:,}"
    return f"{claim.ours} ({spread}{seeds})"


def _line(claim: Claim) -> str:
    said = f"“{claim.quote}” ({claim.where})" if claim.quote else "ours"
    return f"{said} | {claim.statement} | {_found(claim)} | {claim.verdict}"


def _row(claim: Claim) -> tuple[str | Html, ...]:
    quote = f"<q>{escape(claim.quote)}</q> <span>{escape(claim.where)}</span>"
    return (Html(quote, claim.quote), *_measured(claim), _badge(claim))


def _measured(claim: Claim) -> tuple[str, ...]:
    return (claim.statement, claim.ours, claim.interval, f"{claim.n:,}")


def _badge(claim: Claim) -> Html:
    """The verdict, with the count under the pointer."""
    held = "" if claim.scale == "smoke" else f"held in {claim.held} of {claim.n}"
    return Html(badge(claim.verdict, held), claim.verdict)


def _registered(claims: Sequence[Claim]) -> str:
    """When the tests were registered, and those that were changed; folded."""
    rows = [claim.row for claim in claims if claim.row]
    dates = sorted({row.registered.isoformat() for row in rows if row.is_bound})
    changed = [
        (row.tested, was["planned"], was["gives"], was["reason"])
        for row in rows
        for was in row.was
    ]
    if not dates:
        return ""
    told = " to ".join(dict.fromkeys([dates[0], dates[-1]]))
    title = f"Tests registered {told}; {len(changed) or 'none'} changed since"
    if not changed:
        return f"<p class='registered'>{title}.</p>"
    changes = markup(
        CHANGED, changed, kind="settings changed", caption=title, hidden=True
    )
    return fold(title, changes)
