"""The gallery: a card per page with the first panel of its first figure."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape

import numpy as np

from book._ext import notebooks
from book._ext.catalogue.entries import Entry, named, plain
from grokbook.claims.verdict import badge
from grokbook.project import FOLDERS

WIDTH = 480  # pixels of a thumbnail: sharp on a card of 240
WIDEST = 1.7  # width over height; of a longer panel the beginning is shown
TITLE, LABELS, TICK = 29, 26, 9  # CSS pixels: above, below a panel; of a tick


def gallery(entries: Sequence[Entry]) -> str:
    """The page; without JavaScript its filter is a matter of style sheets."""
    lines = ["# Gallery", "", "Every page of the book by the first panel of its first "]
    lines[-1] += "figure. A card opens the page."
    papers = [p for p in FOLDERS if any(entry.paper == p for entry in entries)]
    if not papers:
        return "\n".join([*lines, "", "No page is written yet.", ""])
    lines += ["", _sieve(papers), ""]
    for paper in papers:
        lines += [f"({paper}-gallery)=", f"## {named(paper)}", ""]
        lines += [":::::{grid} 1 2 2 3", ":gutter: 3", ":class-container: cards", ""]
        for entry in entries:
            lines += _card(entry) if entry.paper == paper else []
        lines += [":::::", ""]
    return "\n".join(lines)


def _sieve(papers: Sequence[str]) -> str:
    """One button per paper, and the rules that hide the others, in one line."""
    buttons, rules = [], []
    for paper in ("", *papers):
        name = escape(named(paper) if paper else "All pages")
        checked = "" if paper else " checked"
        buttons.append(
            f'<label><input type="radio" name="paper" value="{paper}"{checked}> '
            f"{name}</label>"
        )
        if paper:
            shown = f'article:has(.sieve [value="{paper}"]:checked) section section'
            rules.append(f"{shown}:not(:has(#{paper}-gallery),#{paper}-gallery)")
    hidden = ",".join(rules) + "{display:none}"
    return (
        f'<fieldset class="sieve"><legend>Show</legend>{"".join(buttons)}</fieldset>'
        f"<style>{hidden}</style>"
    )


def _card(entry: Entry) -> list[str]:
    lines = ["::::{grid-item-card} " + entry.label]
    figures = notebooks.outputs(entry.twin, "image/png")
    if figures:
        image = figures[0][0].metadata.get("mystnb", {}).get("image", {})
        lines += [f":img-top: thumbnails/{file_name(entry)}"]
        lines += [f":img-alt: {' '.join(image.get('alt', '').split())}"]
    lines += [f":link: /{entry.document}", ":link-type: doc", "", plain(entry.title)]
    footer = f"{badge(entry.verdict)} {entry.tally}"
    return [*lines, "", ":::{card-footer}", footer, ":::", "::::", ""]


def file_name(entry: Entry) -> str:
    return f"{entry.id.replace('/', '-')}.png"


def thumbnail(entry: Entry) -> bytes | None:
    """The first panel of its first figure as a small PNG; None without a figure."""
    from PIL import Image

    figures = notebooks.outputs(entry.twin, "image/png")
    if not figures:
        return None
    drawn = Image.open(io.BytesIO(base64.b64decode(figures[0][1]))).convert("RGBA")
    picture = Image.new("RGBA", drawn.size, "white")
    picture.alpha_composite(drawn)
    small = picture.convert("RGB")
    found = panel(np.asarray(small.reduce(2).convert("L")) < 215)  # in CSS pixels
    left, top, right, bottom = (2 * edge for edge in found)
    small = small.crop((left, top, right, bottom))
    small.thumbnail((WIDTH, WIDTH), Image.Resampling.LANCZOS)
    encoded = io.BytesIO()
    palette = small.reduce(3).quantize(32, kmeans=1)  # k-means is slow, and worth it
    paletted = small.quantize(palette=palette, dither=Image.Dither.NONE)
    paletted.save(encoded, "PNG", optimize=True)
    return encoded.getvalue()


def panel(ink: np.ndarray) -> tuple[int, int, int, int]:
    """Left, top, right, bottom of the first panel with its labels.

    ``ink`` (height, width) is where something darker than the grid is drawn. A panel is
    known by the corner of its axes: a long upright line that ends where a long level
    one begins. What has none is shown from its top.
    """
    height, width = ink.shape
    upright, level = runs(ink), runs(ink.T[::-1]).T[:, ::-1]
    corner = (upright >= 0.12 * height) & (level >= 0.12 * width)
    corner[:-TICK] &= ~ink[TICK:]
    corner[:, TICK:] &= ~ink[:, :-TICK]
    left, top, right, bottom = int(ink.any(0).argmax()), 0, width, height
    if corner.any():
        found = np.argwhere(corner)
        y, x = found[np.lexsort((found[:, 1], found[:, 0] // (0.08 * height)))][0]
        if upright[y, x] > 0.66 * y:  # else a curve hides a part of the line
            top = max(0, y - upright[y, x] - TITLE)
        right, bottom = min(width, x + level[y, x] + TICK), min(height, y + LABELS)
    right = min(right, left + int(WIDEST * (bottom - top)))
    return max(0, left - 4), int(top), int(right), int(bottom)


def runs(ink: np.ndarray) -> np.ndarray:
    """How many dark pixels in a row end at each, counted downwards."""
    found = np.zeros(ink.shape, dtype=np.int32)
    count = np.zeros(ink.shape[1], dtype=np.int32)
    for y, row in enumerate(ink):
        count = (count + 1) * row
        found[y] = count
    return found
