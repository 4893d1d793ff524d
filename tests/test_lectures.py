"""To teach with: decks that fit the screen, worksheets without an answer."""

import json
import re
import subprocess
import sys
from urllib.parse import unquote

import pytest
from browser import shown
from test_site import HTML, anchors, parsed

from book._ext import lectures, notebooks
from book._ext.entries import entries
from claimbook.project import home

DECKS = sorted(path.stem for path in home().glob("book/lectures/*.md"))
POOR = """() => Reveal.getSlides().flatMap((slide, at) => {
  Reveal.slide(at);
  const frame = document.querySelector(".slides").getBoundingClientRect();
  const parts = [...slide.querySelectorAll(":scope > :not(aside), :not(aside) > *")]
    .filter(part => !part.closest(".katex-mathml, .katex :not(.base)"));
  const boxes = parts.map(part => part.getBoundingClientRect()).filter(b => b.width);
  const out = boxes.some(b => b.bottom > frame.bottom + 1 || b.right > frame.right + 1);
  return out ? [at + 1] : [];
})"""


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("deck", DECKS)
def test_a_deck_fits_the_screen_and_its_links_lead(deck, chromium):
    path = HTML / "lectures" / f"{deck}.html"
    slides = parsed(path)("section")
    assert all(int(slide["data-timing"]) > 0 for slide in slides)  # for the speaker
    assert len(slides[-1].select("a[href*='#ex-']")) == 3
    assert all(not b.img or not a.img for a, b in zip(slides, slides[1:], strict=False))
    for link in (link for slide in slides for link in slide(["a", "img"])):
        file, _, anchor = (link.get("href") or link["src"]).partition("#")
        target = (path.parent / file).resolve()
        assert target.is_file(), link
        assert not anchor or unquote(anchor) in anchors(target), link
    with shown(chromium, path, (1280, 720)) as page:
        assert page.evaluate(POOR) == [] == page.complaints


def test_notebooks_to_work_in_have_no_answer_and_check_verdicts(tmp_path):
    for entry in entries():
        made = lectures.worksheet(entry.id, entry.twin)
        code = [cell for cell in made.cells if cell.cell_type == "code"]
        asked = [c for c in made.cells if c.source.startswith("**Exercise ")]
        assert [cell.source for cell in code].count("") == len(asked)
        assert not any(cell.outputs for cell in code)
        shows = [c for c in code if re.search(r"^(sheet|tables)\.", c.source, re.M)]
        assert not shows, f"{entry.id}: a cell prints what the book found"
        told = [notebooks.shown_as(c).get("figure", {}) for c in entry.twin.cells]
        told = [one["caption"] for one in told if one] + [entry.title, entry.answer]
        told += ["Solution of exercise", 'class=\\"verdict']
        assert not [one for one in told if one in json.dumps(made)], entry.id
        written = tmp_path / f"{entry.id.replace('/', '_')}.py"
        written.write_text("\n".join(cell.source for cell in code))
        if entry.id == "prieto2025/fig02":
            came = {c["id"]: c["verdict"] for c in entry.carried["claims"]}
            right = {key: one for key, one in came.items() if key in code[-2].source}
            exec(code[-1].source, {"verdicts": right})
            with pytest.raises(AssertionError, match="^panel-b: look again$"):
                exec(code[-1].source, {"verdicts": right | {"panel-b": "fails"}})
    lint = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F821,E9"]
    assert subprocess.run([*lint, tmp_path]).returncode == 0  # all names are defined
