"""How claims are shown: the box at the head of a page, and its table of claims.

The table carries the claims as JSON too, with the records and references that the page
read, for the book's scoreboard and its checks.
"""

from collections.abc import Sequence
from html import escape
from typing import Any

from grokbook import evidence, tables
from grokbook.claims.claim import Claim, main
from grokbook.claims.verdict import badge
from grokbook.evidence import Run
from grokbook.project import CLAIMS_MIME as MIME
from grokbook.records import Record
from grokbook.tables import Html, markup

HEAD = ("The paper says", "Tested as", "Here (median)", "Range", "n", "Verdict")
CHANGED = ("Tested as", "Planned", "What that gives", "Why it was changed")
BEYOND = ("Measured", "Here (median)", "Range", "n")


class ClaimsTable:
    """Shows claims as HTML and text, and carries them as JSON for the scoreboard."""

    def __init__(self, claims: Sequence[Claim], page: str):
        self.claims, self.page = list(claims), page
        self.main = main(self.claims)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {
            "text/plain": "\n".join(map(_line, self.claims)),
            "text/html": self._html(),
            MIME: {
                "page": self.page,
                "scale": self.main.scale,
                "verdict": self.main.verdict,
                "claims": [claim.to_json() for claim in self.claims],
                "read": evidence.read(),
                "cited": evidence.cited(),
            },
        }

    def _html(self) -> str:
        papers = [claim for claim in self.claims if not claim.extra]
        ours = [claim for claim in self.claims if claim.extra]
        title = "The claims of the paper and what came of them"
        html = markup(
            HEAD, map(_row, papers), kind="claims", caption=title, hidden=True
        )
        why = [run for claim in papers for run in claim.why.split("; ") if run]
        if few := list(dict.fromkeys(why)):
            html += f"<p class='few'>Fewer than three seeds: {escape('; '.join(few))}."
            html += "</p>"
        if ours:
            table = markup(BEYOND, map(_beyond, ours), kind="claims beyond")
            many = "measurements" if len(ours) > 1 else "measurement"
            title = f"Beyond the paper: {len(ours)} {many} of ours"
            html += tables.fold(title, table)
        return html + _registered(self.claims)


class Closing(ClaimsTable):
    """The same, and what was run: settings and arms of each record, where they lie."""

    def __init__(self, claims: Sequence[Claim], page: str, records: Sequence[Record]):
        super().__init__(claims, page)
        self.records = list(records)

    def _repr_mimebundle_(self, **how: Any) -> dict[str, Any]:
        bundle = super()._repr_mimebundle_(**how)
        parts = [tables.trained(record) for record in self.records]
        if self.records or evidence.cited():
            made = tables.provenance(*self.records, references=evidence.cited())
            title = "Where the numbers come from"
            text = f"{title}\n{made.text}"
            parts.append(Html(tables.fold(title, made.html), text))
        bundle["text/plain"] += "".join(f"\n{part.text}" for part in parts)
        bundle["text/html"] += "".join(f"\n{part.html}" for part in parts)
        return bundle


class Box:
    """The main claim in the paper's words, what came out, and on how many runs."""

    def __init__(self, claims: Sequence[Claim], runs: Sequence[Run]):
        self.claims, self.runs, self.main = list(claims), list(runs), main(list(claims))

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        lines = {
            "Claim": f"“{self.main.quote}” ({self.main.where})",
            "Result": f"{self.main.statement}: {_found(self.main)}",
            "Evidence": self._evidence(),
        }
        plain = "\n".join(f"{name}: {line}" for name, line in lines.items())
        shown = {name: escape(line) for name, line in lines.items()}
        shown["Result"] = f"{_badge(self.main).html} {shown['Result']}"
        html = "".join(
            f"<p><b>{name}</b> <span>{line}</span></p>" for name, line in shown.items()
        )
        return {
            "text/plain": f"{self.main.verdict}\n{plain}",
            "text/html": f"<div class='verdict-box'>{html}</div>",
        }

    def _evidence(self) -> str:
        """How many claims hold, with how many seeds, at which scale, on what."""
        if self.main.scale == "smoke":
            return "; ".join(["it runs, nothing is judged", *_places(self.runs)])
        judged = [claim for claim in self.claims if claim.judged]
        count = sum(claim.holds for claim in judged)
        told = [f"{count} of {len(judged)} claims of the paper hold"]
        if idle := sum(claim.verdict == "not run" for claim in self.claims):
            told.append(f"{idle} not run")
        seeds = sorted({claim.n for claim in judged if not claim.exact})
        if seeds:
            told.append("n = " + " to ".join(str(n) for n in _ends(seeds)))
        return "; ".join(
            [*told, *(_places(self.runs) or ["exact, nothing was trained"])]
        )


def _ends(values: Sequence[int]) -> list[int]:
    return [values[0]] if len(values) == 1 else [values[0], values[-1]]


def _places(runs: Sequence[Run]) -> list[str]:
    """The scales of the records that the runs belong to, each with its devices."""
    found: dict[str, set[str]] = {}
    for run in runs:
        if not run.record:
            continue
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
    said = Html(quote, claim.quote)
    told = (claim.statement, claim.ours, claim.interval, f"{claim.n:,}")
    return (said, *told, _badge(claim))


def _beyond(claim: Claim) -> tuple[str, ...]:
    return (claim.statement, claim.ours, claim.interval, f"{claim.n:,}")


def _badge(claim: Claim) -> Html:
    """The verdict, with the count under the pointer."""
    held = "" if claim.scale == "smoke" else f"held in {claim.held} of {claim.n}"
    return Html(badge(claim.verdict, held), claim.verdict)


def _registered(claims: Sequence[Claim]) -> str:
    """When the tests were registered, and those that were changed; folded."""
    rows = [claim.row for claim in claims if claim.row and claim.row.is_bound]
    if not rows:
        return ""
    dates = sorted({row.registered.isoformat() for row in rows})
    told = " to ".join(dict.fromkeys([dates[0], dates[-1]]))
    changed = [
        (row.tested, was["planned"], was["gives"], was["reason"])
        for row in rows
        for was in row.was
    ]
    title = f"Tests registered {told}; {len(changed) or 'none'} changed since"
    if not changed:
        return f"<p class='registered'>{title}.</p>"
    table = markup(
        CHANGED, changed, kind="settings changed", caption=title, hidden=True
    )
    return tables.fold(title, table)
