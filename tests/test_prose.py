"""The language of the book: none of its bad habits."""

import re

from book._ext import handouts, notebooks
from book._ext.entries import entries
from claimbook.project import home

BANNED = {
    "the actor is missing": r"\b(is|are|was|were) had\b",
    "stands for a verb": r"\b(does|do|did|doing) so\b(?! (me|n))",
    "German order": r"\bare held for\b|\bcomes? (sooner|earlier)\b",
    "twice not": r"\bnot \w+ and not\b",
    "one of many": r"(?<![\d.,])\b1 (records|runs|seeds|epochs|steps|claims|pages)\b",
}
GONE = [  # what is no sentence: code, formulas, tables, headings, roles, links
    (r"^(`{3,}|:{3,})\{?(?!exercise|admonition|note|tip|figure).*?^\1 *$", " "),
    (r"^ *(`{3,}|:{3,}).*$|^ *:[\w-]+:.*$|^\|.*$|^#+ .*$|<[^<>]+>", ""),
    (r"\$\$.*?\$\$", " x. "),
    (r"\$[^$]*\$|\{[a-z:]+\}`(?P<words>[^`<]*)[^`]*`|`[^`]*`", r"\g<words>x"),
    (r"\[([^\]]*)\]\([^)]*\)", r"\1"),
    (r"\([^()\s]* to [^()\s]*\)|\bet al\.|\*\*?|(Figures?|Tables?|Seeds?) \d+", ""),
]


def sentences(text):
    for pattern, new in GONE:
        text = re.sub(pattern, new, text, flags=re.M | (".*?" in pattern) * re.S)
    for part in re.split(r"\n\s*\n|^\s*(?:[*-]|\d+\.)\s", text, flags=re.M):
        yield from re.split(r"(?<=[.!?:;])\s+(?=\S)", " ".join(part.split()))


def faults(text):
    """What is wrong with it, each with the sentence."""
    for sentence in sentences(text):
        for name, pattern in BANNED.items():
            if re.search(pattern, sentence):
                yield name, sentence


def texts():
    """Where -> what a reader finds there."""
    for path in sorted(home().glob("book/**/*.md")):
        if not {"_templates", "generated"} & {*path.parts} and path.stem != "changelog":
            yield path.relative_to(home() / "book").as_posix(), path.read_text("utf-8")
    for path in handouts.worksheets():
        made = handouts.worksheet_handout(path, solutions=True)
        shown = [c.source for c in made.cells if c.cell_type == "markdown"]
        yield path.name, "\n\n".join(shown)
    for entry in entries():
        shown = [c.source for c in entry.twin.cells if c.cell_type == "markdown"]
        shown += [text for _, text in notebooks.outputs(entry.twin, "text/markdown")]
        yield entry.document, "\n\n".join([*shown, entry.answer])


def test_sentences_have_none_of_the_bad_habits():
    found = [f"{where}: {fault}: {s}" for where, t in texts() for fault, s in faults(t)]
    assert not found, "\n".join([f"{len(found)} sentences", *found])
