"""The top of a page: what its title, its answer and its first figure have to agree on.

Each number of an answer is one that a reader can point at: a mark or a label of the
first figure (of a page without a figure, a cell of its first table), or a setting of
the line below that says what was trained. Runs are counted by the page and never typed.
"""

import re
from collections.abc import Iterable, Iterator
from html import unescape

from nbformat import NotebookNode

from book._ext import notebooks
from claimbook.project import FIGURE_MIME

# Numbers said of something else: a name, a year, a place in a paper, a count of runs.
NAMED = re.compile(
    r"(Figures?|Tables?|Section|Question|Lecture|Appendix|Proposition|Theorem)\s+\d+"
    r"|\(?\b(19|20)\d\d\)?(?=[^\d,.]|$)"
    r"|\d+( of \d+)? (\w+ )?(runs?|seeds?|networks?|MLPs?|transformers?)\b"
)
NUMBER = re.compile(r"(?<![\w.-])-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?(?![\w]|\.\d)")
COUNT = (
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|both"
    r"|(?<![\w.,])\d+)"
)
TYPED = re.compile(
    rf"\b{COUNT}\s+(?:of\s+{COUNT}\s+)?"
    r"(?:single |small |full )?(?:runs?|seeds?)\b"
)
SENTENCES = re.compile(r"\.box\(|tables\.prose\(")
# Words of the makers that a reader cannot know; the glossary has what replaces them.
PRIVATE = re.compile(
    r"\b(arms?|members?|seed by seed|held short|worst log|all alike|collapse half"
    r"|(?:two|at least \d+|\d+) looks|a look|the looks)\b"
)


def faults(twin: NotebookNode) -> Iterator[str]:
    """What the top of an executed page says and does not show, and what it lacks."""
    answer, recipe = box(twin)
    for text in (notebooks.heading(twin)[1], answer, *_captions(twin)):
        for words in PRIVATE.findall(text):
            yield f"says '{words}', a word of its makers ('{text[:60]}…')"
    if missing := unshown(answer, recipe, shown(twin)):
        told = ", ".join(missing)
        yield f"prints {told} in its answer, and its first figure does not show it"
    for words in typed_counts(twin):
        yield f"has a typed count of runs ('{words}'): print it, len(run.seeds)"
    for row in _without_sentence(twin):
        yield f"has no sentence (`reads`) for its row '{row}'"


def _captions(twin: NotebookNode) -> list[str]:
    about = [notebooks.shown_as(cell).get("figure", {}) for cell in twin.cells]
    return [one["caption"] for one in about if "caption" in one]


def _without_sentence(twin: NotebookNode) -> list[str]:
    """Rows that judge a claim and whose result nobody has put into words."""
    carried = notebooks.claims_of(twin) or {"claims": []}
    rows = [row for row in carried["claims"] if not (row["extra"] or row["same_as"])]
    return [row["id"] for row in rows if row["n"] and not row.get("reads")]


def typed_counts(source: NotebookNode) -> Iterator[str]:
    """Counts of runs or seeds that a page types in its answer or its prose."""
    for cell in source.cells:
        if cell.cell_type == "code" and re.search(
            r"\.box\(|tables\.prose\(", cell.source
        ):
            for words in re.findall(r'f?"""(.*?)"""|f?"([^"\n]*)"', cell.source, re.S):
                text = re.sub(r"\{[^{}]*\}", "{}", "".join(words))
                yield from (" ".join(m[0].split()) for m in TYPED.finditer(text))


def box(twin: NotebookNode) -> tuple[str, str]:
    """The answer of a page and its line of what was trained; "" where it has none."""
    for _, html in notebooks.outputs(twin, "text/html"):
        if "verdict-box" in html:
            answer, recipe = (
                plain(" ".join(re.findall(f"<p class='{part}'>(.*?)</p>", html, re.S)))
                for part in ("answer", "recipe")
            )
            return answer, recipe
    return "", ""


def plain(html: str) -> str:
    return unescape(re.sub("<[^>]*>", " ", html))


def shown(twin: NotebookNode) -> list[float]:
    """The numbers of the first figure; without one, of the first table."""
    for _, about in notebooks.outputs(twin, FIGURE_MIME):
        return [float(one) for one in about.get("numbers", [])]
    for _, html in notebooks.outputs(twin, "text/html"):
        if "<table" in html and "verdict-box" not in html:
            return [_value(one) for one in NUMBER.findall(plain(html))]
    return []


def unshown(answer: str, recipe: str, numbers: Iterable[float]) -> list[str]:
    """The numbers of an answer that are neither shown nor settings."""
    settings, known = NUMBER.findall(recipe), [*numbers]
    said = NUMBER.findall(NAMED.sub("", answer))
    return [
        one
        for one in dict.fromkeys(said)
        if one not in settings and not any(_is(one, number) for number in known)
    ]


def _is(said: str, number: float) -> bool:
    """Whether a number in words is this one, rounded, or as a share in per cent."""
    value, near = _value(said), 0.5001 * _unit(said)
    return abs(value - number) <= near or abs(value - 100 * number) <= near


def _unit(said: str) -> float:
    """The worth of the last digit that counts: 500 -> 100, 0.25 -> 0.01."""
    plain = said.replace(",", "").lstrip("-")
    if "e" in plain:
        return 10.0 ** int(plain.partition("e")[2])
    if "." in plain:
        return 10.0 ** -len(plain.partition(".")[2])
    return 10.0 ** (len(plain) - len(plain.rstrip("0"))) if int(plain) else 1.0


def _value(said: str) -> float:
    return float(said.replace(",", ""))
