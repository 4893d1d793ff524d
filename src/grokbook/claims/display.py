"""The table of claims that ends a page's check cell: shown, and carried as JSON."""

from html import escape
from typing import Any

from grokbook import evidence
from grokbook.claims.claim import Claim, page_verdict
from grokbook.project import CLAIMS_MIME as MIME
from grokbook.tables import Html, markup


def table(claims: list[Claim], page: str) -> "ClaimsTable":
    """The claims table that ends a page's check cell; ``page`` is the page's id.

    It carries what `evidence.record` gave the page so far, so that whoever asks which
    records and members a page rests on need not guess.
    """
    return ClaimsTable(claims, page, evidence.read())


class ClaimsTable:
    """Shows claims as HTML and text, and carries them as JSON for the scoreboard."""

    def __init__(self, claims: list[Claim], page: str, read: list[dict[str, Any]]):
        self.claims, self.page, self.read = claims, page, read
        scales = [c.scale for c in claims if c.n and not c.extra]
        self.scale = "paper" if "paper" in scales else scales[0] if scales else "paper"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {
            "text/plain": self._text(),
            "text/html": self._html(),
            MIME: {
                "page": self.page,
                "scale": self.scale,
                "verdict": page_verdict(self.claims),
                "claims": [claim.to_json() for claim in self.claims],
                "read": self.read,
            },
        }

    def _text(self) -> str:
        return "\n".join(
            f"{c.statement} | paper: {c.paper} | here: {c.ours} ({c.interval}; "
            f"n = {c.n}) | {c.verdict}"
            for c in self.claims
        )

    def _html(self) -> str:
        head = ("Claim", "Paper", "Here (median)", "Range", "n", "Verdict")
        rows = [
            (c.statement, c.paper, c.ours, c.interval, str(c.n), _badge(c))
            for c in self.claims
        ]
        return markup(head, rows, kind="claims")


def _badge(claim: Claim) -> Html:
    """The verdict as the style sheet draws it, with the count as its title."""
    held = "" if claim.extra else f" title='held in {claim.held} of {claim.n}'"
    kind, verdict = claim.verdict.replace(" ", "-"), escape(claim.verdict)
    html = f"<span class='verdict verdict-{kind}'{held}>{verdict}</span>"
    return Html(html, claim.verdict)
