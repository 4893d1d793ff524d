"""To teach with: decks that fit the screen."""

from urllib.parse import unquote

import pytest
from browser import shown
from test_site import HTML, anchors, parsed

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
