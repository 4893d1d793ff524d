"""To teach with: decks that fit the screen, and can be read from the last row."""

import io
import math
import re
from itertools import pairwise
from urllib.parse import unquote

import matplotlib.pyplot as plt
import pytest
from browser import shown
from matplotlib.text import Text
from PIL import Image
from test_site import HTML, anchors, parsed

from book._ext import catalogue, lectures, notebooks, pages
from book._ext.entries import Entry
from claimbook import plots
from claimbook.errors import PageError
from claimbook.plots.slides import slide

DECKS = lectures.decks()
POOR = """() => Reveal.getSlides().flatMap((slide, at) => {
  Reveal.slide(at);
  const frame = document.querySelector(".slides").getBoundingClientRect();
  const parts = [...slide.querySelectorAll(":scope > :not(aside), :not(aside) > *")]
    .filter(part => !part.closest(".katex-mathml, .katex :not(.base)"));
  const boxes = parts.map(part => part.getBoundingClientRect()).filter(b => b.width);
  const out = boxes.some(b => b.bottom > frame.bottom + 1 || b.right > frame.right + 1);
  return out ? [at + 1] : [];
})"""


def slides(name):
    """The slides of a deck as they are written: heading, text and note of each."""
    parts = [one.partition("\nNote: ")[::2] for one in DECKS[name].split("\n---\n")]
    return [(text.strip().partition("\n")[0], text, note) for text, note in parts]


@pytest.mark.parametrize("name", DECKS)
def test_a_deck_has_goals_answers_and_a_summary(name):
    told = slides(name)
    headings = [heading for heading, *_ in told]
    assert headings[1] == "## Goals"
    assert headings[-1] == "## Summary"
    for (heading, text, _), (after, *_) in pairwise(told):
        asks = heading.startswith(("## Question: ", "## Predict: "))
        assert asks == after.startswith("## Answer: "), heading
        assert asks or "?**" not in text, heading


@pytest.mark.parametrize("name", DECKS)
def test_a_deck_leaves_time_in_a_lesson_of_50_minutes(name):
    assert all(re.match(r"[1-5] min\. ", note) for *_, note in slides(name))
    assert 35 <= lectures.minutes(DECKS[name]) <= 40


def test_the_minutes_of_a_deck_are_those_of_its_notes():
    assert (
        lectures.minutes("# A\n\nNote: 2 min. Wait 5 min.\n---\nNote: 11 min. B") == 13
    )


@pytest.fixture
def figure():
    """Two panels with two arms, drawn in the style of slides."""
    with plt.rc_context():
        plots.use_style()
        plt.style.use("claimbook.plots.slide")
        figure, axes = plots.panels(2, sharey=True)
        for panel in axes:
            panel.plot([0, 1], [0, 1], color=plots.RED, label="red")
            panel.plot([0, 1], [1, 0], color=plots.BLUE, label="blue")
            panel.text(0.5, 0.2, "see below", fontsize=9)
        axes[0].set(ylabel="loss", yticks=[0, 1], yticklabels=["none", "see below"])
        plots.letter(axes, ["first", "second"])
        yield figure
        plt.close(figure)


def test_a_slide_has_large_letters_and_its_own_words(figure):
    widths = [line.get_linewidth() for line in figure.axes[1].lines]
    (png,) = slide(figure, "b", (), {"see below": "high"}, 5.2)
    image = Image.open(io.BytesIO(png))
    assert (image.size, image.mode) == ((1920, 780), "P")
    (panel,) = figure.axes
    found = [line.get_linewidth() for line in panel.lines]
    assert found == pytest.approx([1.6 * width for width in widths])
    labels = [label.get_text() for label in panel.get_yticklabels()]
    assert (panel.get_title("left"), panel.get_ylabel()) == ("second", "loss")
    assert (panel.texts[0].get_text(), labels) == ("high", ["none", "high"])
    sizes = [text.get_fontsize() for text in figure.findobj(Text)]
    assert min(sizes) == 18
    assert figure.get_size_inches().tolist() == [12.8, 5.2]


def test_a_legend_has_what_is_drawn_with_a_label_or_without(figure):
    first, second = figure.axes
    for line in second.lines:
        line.set_label("")
    for panel, label in ((first, "{}"), (second, "")):
        panel.bar([0], [1], color=plots.SKY, label=label.format("bar"))
        panel.scatter([0], [0], color=plots.GREEN, label=label.format("dot"))
    first.plot([0], [0], "D", color=plots.GREY, label="paper")
    second.plot([0], [0], "D", color=plots.BLACK)
    first.plot([0, 1], [1, 1], color=plots.PURPLE, label="both")
    second.plot([0, 1], [1, 1], color=plots.YELLOW, label="both")
    first.plot([0, 1], [1, 1], color=plots.ORANGE, label="gone")
    figure.legend(*first.get_legend_handles_labels(), loc="outside upper center")
    slide(figure, "b", (), {}, 5.2)
    (legend,) = figure.legends
    names = {text.get_text() for text in legend.get_texts()}
    assert names == {"red", "blue", "bar", "dot", "paper", "both"}
    assert legend._ncols == 4


@pytest.mark.parametrize(
    ("panels", "steps", "seen"),
    [
        ("", (), [[0], [0, 1]]),
        ("a", ("blue", "red"), [["blue", "bar"], ["blue", "bar", "red", "dot"]]),
    ],
)
def test_a_slide_shows_step_after_step(figure, monkeypatch, panels, steps, seen):
    first, places = figure.axes[0], []
    dot = first.scatter([0.5], [0.5], color=plots.RED, label="dot")
    (bar,) = first.bar([0.5], [0.1], color=plots.BLUE)
    bar.set_label("bar")

    def shown(figure):
        figure.draw_without_rendering()
        places.append([panel.get_position().bounds for panel in figure.axes])
        parts = [first.lines[1], bar, first.lines[0], dot] if steps else figure.axes
        names = {part: part.get_label() if steps else k for k, part in enumerate(parts)}
        return [names[part] for part in parts if part.get_visible()]

    monkeypatch.setattr(plots.slides, "_png", shown)
    assert slide(figure, panels, steps, {}, 5.2) == seen
    assert places[0] == places[1]


def test_a_slide_refuses_a_figure_that_its_page_does_not_show(tmp_path, monkeypatch):
    page = Entry("prieto2025/fig03", pages.find("prieto2025/fig03"), None)
    monkeypatch.setattr(notebooks, "outputs", lambda *_: [(None, {"sha256": "old"})])
    monkeypatch.setattr(lectures, "redrawn", lambda *_: plots.panels(1)[0])
    with pytest.raises(
        PageError, match=r"run 'python -m book execute prieto2025/fig03'"
    ):
        lectures.figures(tmp_path, page, 1, "b", (), {}, 5.2)
    assert not list(tmp_path.iterdir())


def test_adam_after_a_silence_is_computed():
    """The first step is (1 − β₁) / √(1 − β₂) of a full one after a silence."""
    drawing = lectures.diagram(catalogue.templates(), "adam")
    assert f"first step {0.1 / math.sqrt(0.05):.2f} η" in drawing


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("deck", DECKS)
def test_a_deck_fits_the_screen_and_its_links_lead(deck, chromium):
    path = HTML / "lectures" / f"{deck}.html"
    slides = parsed(path)("section")
    assert len(slides[-2].select("a[href*='#ex-']")) == 3
    assert all(not b.img or not a.img for a, b in zip(slides, slides[1:], strict=False))
    for link in (link for one in slides for link in one(["a", "img"])):
        file, _, anchor = (link.get("href") or link["src"]).partition("#")
        target = (path.parent / file).resolve()
        assert target.is_file(), link
        assert not anchor or unquote(anchor) in anchors(target), link
    with shown(chromium, path, (1280, 720)) as page:
        assert page.evaluate(POOR) == [] == page.complaints


@pytest.mark.usefixtures("built")
def test_a_deck_prints_one_slide_a_page_and_dark_on_white(chromium):
    path = HTML / "lectures" / "2-softmax.html"
    with shown(chromium, f"{path.as_uri()}?print-pdf", dark=True) as page:
        page.wait_for_selector(".pdf-page >> nth=-1")
        assert page.locator(".pdf-page").count() == len(parsed(path)("section"))
        grounds = "nodes => nodes.map(one => getComputedStyle(one).backgroundColor)"
        backgrounds = page.eval_on_selector_all("body, .slide-background", grounds)
        assert set(backgrounds) <= {"rgb(255, 255, 255)", "rgba(0, 0, 0, 0)"}
