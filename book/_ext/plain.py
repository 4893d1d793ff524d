"""MyST as the book is written in, turned into the Markdown that any Jupyter shows.

    {term}`logits <logit>`              a link into the book, or the word alone
    {cite:t}`prieto2025`                Prieto et al. (2025), linked to the paper
    {doc}, {ref}, {numref}, {eq}        the words they show
    ```{exercise}, ```{solution}        headed paragraphs; folded, or left out
    ```{note} and other admonitions     quotations with a bold head
    [Figure 3](fig03_stablemax.ipynb)   a link to the page of the book, or its text

The text is read line by line, as directives are, so that maths, tables and code stay as
they are. The same holds for the source of a code cell that prints prose, where the
braces of an f-string are doubled. Whatever is not known here is a PageError: a handout
never shows markup that nobody resolved.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from book._ext.sources import Sources
from grokbook.errors import PageError

ROLE = re.compile(r"\{{1,2}([a-z]+(?::[a-z]+)?)\}{1,2}(`+)(.+?)\2", re.DOTALL)
OPEN = re.compile(
    r"(?P<fence>`{3,}|:{3,})(?:\{{1,2}(?P<name>[\w-]+)\}{1,2})?(?P<rest>.*)"
)
OPTION = re.compile(r":([\w-]+):\s*(.*)")
TITLED = re.compile(r"(.+?)\s*<([^<>]+)>", re.DOTALL)
SPAN = re.compile(r"\[([^\[\]]*)\]\{\.[\w .-]+\}")
LINK = re.compile(r"(!?)\[([^\[\]]*)\]\(\s*([^()\s]+)\s*\)")
ANCHOR = re.compile(r"<a\b[^>]*?\bhref=([\"'])(.*?)\1[^>]*>(.*?)</a>", re.DOTALL)
TARGET = re.compile(r"^\([\w-]+\)=\s*$\n?", re.MULTILINE)
ELSEWHERE = re.compile(r"[a-z][a-z+.-]*:|#|//")
ADMONITIONS = {"note", "warning", "tip", "important", "hint", "caution", "attention"}
ADMONITIONS |= {"danger", "error", "seealso", "admonition"}


@dataclass
class Resolver:
    """Resolves the texts of one page in their order; counts its exercises.

    ``page``: as in "prieto2025/fig02_softmax_collapse"; ``figures``: name -> number.
    ``solutions`` are folded, or left out. What was used is in ``terms`` and ``cited``.
    """

    page: str
    sources: Sources
    figures: dict[str, int] = field(default_factory=dict)
    solutions: bool = True
    terms: dict[str, None] = field(default_factory=dict)
    cited: dict[str, None] = field(default_factory=dict)
    exercises: dict[str, int] = field(default_factory=dict)

    def markdown(self, text: str) -> str:
        """A text without anything that only the book understands."""
        return "\n".join(self._blocks(text.splitlines()))

    def html(self, text: str) -> str:
        """HTML whose links lead into the book, or are their words where none can."""
        return ANCHOR.sub(self._anchor, text)

    def _blocks(self, lines: list[str]) -> Iterator[str]:
        prose: list[str] = []
        rest = iter(lines)
        for line in rest:
            found = OPEN.fullmatch(line.strip())
            if not found or (found["fence"][0] == ":" and not found["name"]):
                prose.append(line)
                continue
            yield from self._prose(prose)
            prose = []
            inside = list(_inside(rest, found["fence"]))
            if found["name"]:
                yield from self._directive(found["name"], found["rest"].strip(), inside)
            else:
                yield from (line, *inside, found["fence"])
        yield from self._prose(prose)

    def _prose(self, lines: list[str]) -> list[str]:
        if not lines:
            return []
        text = TARGET.sub("", "\n".join(lines))
        text = ROLE.sub(self._role, text)
        text = SPAN.sub(r"\1", text)
        return self.html(LINK.sub(self._link, text)).split("\n")

    def _directive(self, name: str, title: str, lines: list[str]) -> Iterator[str]:
        options = {}
        while lines and (found := OPTION.fullmatch(lines[0].strip())):
            options[found[1]] = found[2]
            lines = lines[1:]
        body = list(self._blocks(lines)) if name != "math" else lines
        if name == "exercise":
            label = options.get("label", f"unnamed {len(self.exercises)}")
            number = self.exercises.setdefault(label, len(self.exercises) + 1)
            yield from (f"**Exercise {number}.**", "", *body)
        elif name == "solution":
            if title not in self.exercises:
                raise PageError(
                    f"{self.page} solves {title!r}, which is no exercise above it: "
                    "correct the label."
                )
            if self.solutions:
                head = f"Solution of exercise {self.exercises[title]}"
                yield from _folded(head, body)
        elif name == "dropdown":
            yield from _folded(title or "More", body)
        elif name in ADMONITIONS:
            yield from (f"> **{title or name.capitalize()}**", ">")
            yield from (f"> {line}".rstrip() for line in body)
        elif name in ("figure", "image"):
            yield self._picture(options.get("alt", ""), title)
            yield from body
        elif name == "math":
            yield from ("$$", *body, "$$")
        else:
            raise PageError(
                f"{self.page} has the directive {{{name}}}, which a handout cannot "
                "show: add it to book._ext.plain."
            )

    def _role(self, found: re.Match[str]) -> str:
        name, content = found[1], " ".join(found[3].split())
        known: dict[str, Callable[[str, str], str]] = {
            "term": self._term,
            "cite:t": lambda _, keys: self._cite(keys, bare=True),
            "cite:p": lambda _, keys: self._cite(keys, bare=False),
            "doc": self._doc,
            "ref": self._ref,
            "numref": self._ref,
            "eq": lambda text, _: f"({text})",
            "math": lambda text, _: f"${text}$",
        }
        if name not in known:
            raise PageError(
                f"{self.page} has the role {{{name}}}, which a handout cannot show: "
                "add it to book._ext.plain."
            )
        titled = TITLED.fullmatch(content)
        if titled:
            return known[name](titled[1], titled[2])
        return known[name]("" if name in ("doc", "ref", "numref") else content, content)

    def _term(self, text: str, term: str) -> str:
        key = self.sources.term(term)
        self.terms[key] = None
        return _linked(text, self.sources.address(f"glossary.html#{_slug(key)}"))

    def _cite(self, keys: str, *, bare: bool) -> str:
        said = []
        for key in (key.strip() for key in keys.split(",")):
            names, year, address = self.sources.cited(key)
            self.cited[key] = None
            said.append(
                _linked(f"{names} ({year})" if bare else f"{names}, {year}", address)
            )
        return ", ".join(said) if bare else f"({'; '.join(said)})"

    def _doc(self, text: str, target: str) -> str:
        path = self._from_here(target)
        return _linked(
            text or self.sources.title(path), self.sources.address(f"{path}.html")
        )

    def _ref(self, text: str, target: str) -> str:
        number = self.figures.get(target)
        if number is None and not text:
            raise PageError(
                f"{self.page} refers to {target!r} without words, and has no figure of "
                "that name: write {ref}`words <name>`."
            )
        if not text or "%s" in text:
            return (text or "Plot %s").replace("%s", str(number))
        return text if number is None else f"{text} (Plot {number})"

    def _link(self, found: re.Match[str]) -> str:
        picture, text, target = found.groups()
        if ELSEWHERE.match(target):
            return found[0]
        if picture:
            return self._picture(text, target)
        path, hash_, fragment = target.partition("#")
        stem, suffix = posixpath.splitext(path)
        if suffix not in (".ipynb", ".md", ".html"):
            return found[0]  # an index of code, as in x[0](1), and no page
        page = f"{self._from_here(stem)}.html{hash_}{fragment}"
        return _linked(text, self.sources.address(page))

    def _anchor(self, found: re.Match[str]) -> str:
        if ELSEWHERE.match(found[2]):
            return found[0]
        address = self.sources.address(self._from_here(found[2]))
        return f'<a href="{address}">{found[3]}</a>' if address else found[3]

    def _picture(self, alt: str, target: str) -> str:
        place = self._from_here(target)
        if not place.startswith("_static/"):  # where Sphinx gathers all others
            place = f"_images/{posixpath.basename(place)}"
        address = self.sources.address(place)
        return (
            f"![{alt}]({address})" if address else f"*(A picture in the book: {alt})*"
        )

    def _from_here(self, target: str) -> str:
        """A path in the book, from one that starts at it (/x) or at this page."""
        here = posixpath.join("/", posixpath.dirname(self.page), target)
        return posixpath.normpath(here).lstrip("/")


def _inside(lines: Iterator[str], fence: str) -> Iterator[str]:
    """The lines up to the one that closes a fence."""
    for line in lines:
        if re.fullmatch(rf"{fence[0]}{{{len(fence)},}}", line.strip()):
            return
        yield line


def _folded(title: str, body: list[str]) -> tuple[str, ...]:
    return ("<details>", f"<summary>{title}</summary>", "", *body, "", "</details>")


def _linked(text: str, address: str) -> str:
    return f"[{text}]({address})" if address else text


def _slug(term: str) -> str:
    """The anchor that Sphinx gives a term of the glossary."""
    return "term-" + re.sub(r"[^a-zA-Z0-9]+", "-", term).strip("-")
