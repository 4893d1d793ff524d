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
# Words of the makers that a reader cannot know; the glossary has what replaces them.
PRIVATE = re.compile(
    r"\b(arms?|members?|seed by seed|held short|worst log|all alike|collapse half"
    r"|(?:two|at least \d+|\d+) looks|a look|the looks)\b"
)


def faults(twin: NotebookNode) -> Iterator[str]:
    """Yield what the top of an executed page says and does not show, or what it lacks.

    A fault is the end of a sentence about the page.
    """
    answer, recipe = answer_and_recipe(twin)
    figures = [notebooks.display_options(c).get("figure", {}) for c in twin.cells]
    captions = [figure["caption"] for figure in figures if "caption" in figure]
    for text in (notebooks.heading(twin)[1], answer, *captions):
        for words in PRIVATE.findall(text):
            yield f"says '{words}', a word of its makers ('{text[:60]}…')"
    if missing := unshown(answer, recipe, shown_numbers(twin)):
        listed = ", ".join(missing)
        yield f"prints {listed} in its answer, and its first figure does not show it"
    for words in typed_counts(twin):
        yield f"has a typed count of runs ('{words}'): print it, len(run.seeds)"
    for claim in notebooks.closing(twin)["claims"]:
        is_judged = claim["n"] and not (claim["extra"] or claim["same_as"])
        if is_judged and not claim.get("reads"):
            yield f"has no sentence (`reads`) for its row '{claim['id']}'"


def typed_counts(notebook: NotebookNode) -> Iterator[str]:
    """Yield the counts of runs or seeds that a page types in its answer or its prose.

    They are sought in the strings of cells that print sentences, outside of braces.
    """
    for cell in notebook.cells:
        is_prose = re.search(r"\.box\(|tables\.prose\(", cell.source)
        if cell.cell_type == "code" and is_prose:
            for words in re.findall(r'f?"""(.*?)"""|f?"([^"\n]*)"', cell.source, re.S):
                text = re.sub(r"\{[^{}]*\}", "{}", "".join(words))
                yield from (" ".join(m[0].split()) for m in TYPED.finditer(text))


def answer_and_recipe(twin: NotebookNode) -> tuple[str, str]:
    """Return the answer in the box of a page, and its line of what was trained.

    Both are plain text, and "" if the page has no box.
    """
    for _, html in notebooks.outputs(twin, "text/html"):
        if "verdict-box" in html:
            answer, recipe = (
                _without_tags(
                    " ".join(re.findall(f"<p class='{k}'>(.*?)</p>", html, re.S))
                )
                for k in ("answer", "recipe")
            )
            return answer, recipe
    return "", ""


def _without_tags(html: str) -> str:
    return unescape(re.sub("<[^>]*>", " ", html))


def shown_numbers(twin: NotebookNode) -> list[float]:
    """Return the numbers of the first figure; without one, of the first table."""
    for _, shown in notebooks.outputs(twin, FIGURE_MIME):
        return [float(number) for number in shown.get("numbers", [])]
    for _, html in notebooks.outputs(twin, "text/html"):
        if "<table" in html and "verdict-box" not in html:
            return [_value(number) for number in NUMBER.findall(_without_tags(html))]
    return []


def unshown(answer: str, recipe: str, shown: Iterable[float]) -> list[str]:
    """Return the numbers of an answer that are neither shown nor in the recipe."""
    settings, shown = NUMBER.findall(recipe), [*shown]
    return [
        words
        for words in dict.fromkeys(NUMBER.findall(NAMED.sub("", answer)))
        if words not in settings and not any(_means(words, x) for x in shown)
    ]


def _means(words: str, number: float) -> bool:
    """Return whether a number in words is this one, rounded, or a share in per cent."""
    value, tolerance = _value(words), 0.5001 * _unit(words)
    return abs(value - number) <= tolerance or abs(value - 100 * number) <= tolerance


def _unit(words: str) -> float:
    """Return the worth of the last digit that counts: 100 of 500, 0.01 of 0.25."""
    digits = words.replace(",", "").lstrip("-")
    if "e" in digits:
        return 10.0 ** int(digits.partition("e")[2])
    if "." in digits:
        return 10.0 ** -len(digits.partition(".")[2])
    zero_count = len(digits) - len(digits.rstrip("0"))
    return 10.0**zero_count if int(digits) else 1.0


def _value(words: str) -> float:
    return float(words.replace(",", ""))
