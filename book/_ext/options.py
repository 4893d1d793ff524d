"""What a code cell says of its figure and of itself: the `#|` lines at its top.

    #| name: fig-prieto2025-04
    #| caption: >
    #|   The finding, then what panels and marks are.
    #| alt: The finding, for those who cannot see it.
    #| fold: "Code: draw the figure"

They are one YAML mapping and become the metadata that MyST-NB reads: name and caption
of the figure, alternative text of the image, and the line that opens a folded cell. In
the source of the cell they stay as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grokbook.errors import PageError

if TYPE_CHECKING:
    from nbformat import NotebookNode

MARK = "#|"
PLACES = {  # option -> where MyST-NB looks for it
    "name": ("figure", "name"),
    "caption": ("figure", "caption"),
    "alt": ("image", "alt"),
    "fold": ("code_prompt_show",),
}
FOLDS = {"hide-input", "hide-cell", "hide-output"}
CLOSE = "Hide code"


def apply(cell: NotebookNode, where: str) -> None:
    """Turn the `#|` lines of a cell into its metadata; ``where`` names it in errors.

    Metadata that the cell has already stay where no line says otherwise. PageError for
    lines that are no mapping of known keys to words, stand elsewhere than at the top,
    or fold a cell that no tag folds.
    """
    found = read(cell.source, where) if cell.cell_type == "code" else {}
    if not found:
        return
    mystnb = cell.metadata.setdefault("mystnb", {})
    for key, words in found.items():
        *outer, last = PLACES[key]
        place = mystnb
        for part in outer:
            place = place.setdefault(part, {})
        place[last] = words
    if "fold" in found:
        if not FOLDS & set(cell.metadata.get("tags", [])):
            raise PageError(f"{where} has '#| fold', but no tag hide-input folds it.")
        mystnb["code_prompt_hide"] = CLOSE


def read(source: str, where: str) -> dict[str, str]:
    """The options at the top of a cell's source by key, as words without line breaks.

    PageError as in `apply`.
    """
    lines = source.splitlines()
    top = next((i for i, s in enumerate(lines) if not s.startswith(MARK)), len(lines))
    if any(line.startswith(MARK) for line in lines[top:]):
        raise PageError(f"{where} has '#|' lines below its top: move them up.")
    if not top:
        return {}
    text = "\n".join(s.removeprefix(MARK).removeprefix(" ") for s in lines[:top])
    return {key: _words(key, value, where) for key, value in _pairs(text, where)}


def _pairs(text: str, where: str) -> list[tuple[str, Any]]:
    """Keys and values of the mapping, each key once."""
    import yaml

    try:
        found, node = yaml.safe_load(text), yaml.compose(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}" if mark else "one line"
        raise PageError(
            f"{where} has '#|' lines that are not YAML from {line} on: put a text with "
            "a colon in quotes, or after 'key: >' on indented lines."
        ) from error
    if not isinstance(found, dict):
        raise PageError(f"{where} has '#|' lines that are not 'key: value'.")
    if len(node.value) > len(found):
        raise PageError(f"{where} has the same key twice in its '#|' lines.")
    return list(found.items())


def _words(key: str, value: Any, where: str) -> str:
    if key not in PLACES:
        raise PageError(
            f"{where} has the unknown key '{key}' in its '#|' lines: they take "
            f"{', '.join(PLACES)}."
        )
    if not isinstance(value, str) or not value.strip():
        raise PageError(f"{where} has '#| {key}' without words: {value!r}.")
    return " ".join(value.split())
