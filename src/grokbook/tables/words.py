"""Sentences with numbers in them, which a page prints from its record."""

from inspect import cleandoc
from typing import Any

from grokbook.errors import PageError


class Prose:
    """Markdown that a notebook shows as text; the roles of MyST work in it."""

    def __init__(self, markdown: str):
        self.markdown = markdown

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": self.markdown, "text/markdown": self.markdown}


def prose(markdown: str) -> Prose:
    """Text whose numbers the page has put in, without the indentation of the source.

    Roles, citations and maths work as in a Markdown cell. PageError for a heading,
    which MyST takes in a cell of its own alone, and for nothing at all.
    """
    text = cleandoc(markdown).strip()
    if not text:
        raise PageError("A page prints prose without words: give it a sentence.")
    for line in text.splitlines():
        if line.startswith("#"):
            raise PageError(
                f"A page prints the heading '{line}' as prose: put it into a Markdown "
                "cell."
            )
    return Prose(text)
