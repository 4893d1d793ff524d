"""The top of a page: what it says, its figure shows; what it counts, it prints."""

import base64
import io
import json
from pathlib import Path

import nbformat
import numpy as np
import pytest
from PIL import Image

from book._ext import pages, summaries, tops
from claimbook.project import CLAIMS_MIME, FIGURE_MIME

ROOT = Path(__file__).parents[1]


def page(
    answer="It falls from 0.2 % to 3.1 % by epoch 20,000.",
    title="Rounding loses updates",
    caption="The share grows.",
    source='sheet.box(f"In {len(run.seeds)} runs")',
    numbers=("0.00204", "0.0312", "2e+04"),
    **row,
):
    """An executed page of one box, one figure and one claim."""
    row = {"id": "a", "n": 5, "reads": "It grows", "extra": False} | row
    claims = {"claims": [{"same_as": ""} | row]}
    html = f"<div class='verdict-box'><p class='answer'>{answer}</p>"
    html += "<p class='recipe'>MLP, width 200 · 20,000 epochs</p></div>"
    shown = {FIGURE_MIME: {"numbers": list(numbers)}, "image/png": ""}
    data = [{"text/html": html}, shown, {CLAIMS_MIME: claims}]
    cells = [nbformat.v4.new_markdown_cell(f"# [A]{{.kicker}} {title}")]
    for one, text in zip(data, (source, "plots.show(figure)", "closing"), strict=True):
        output = nbformat.v4.new_output("display_data", one)
        cells.append(nbformat.v4.new_code_cell(text, outputs=[output]))
    cells[2].metadata["mystnb"] = {"figure": {"caption": caption}}
    return nbformat.v4.new_notebook(cells=cells)


@pytest.mark.parametrize("path", sorted(ROOT.glob("book/*/*.ipynb")), ids=str)
def test_no_word_or_line_of_a_picture_is_cut_at_its_edge(path):
    """Neither in the picture of a page nor in that for a phone."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        for output in cell.get("outputs", ()):
            if "image/png" not in output.get("data", {}):
                continue
            narrow = output["metadata"]["image/png"]["narrow"]
            for encoded in (output["data"]["image/png"], narrow):
                image = Image.open(io.BytesIO(base64.b64decode(encoded)))
                pixels = np.asarray(image.convert("L"))
                edges = [pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]]
                assert min(edge.min() for edge in edges) > 200, cell["source"]


def test_a_top_that_says_what_its_figure_shows_is_in_order():
    assert list(tops.faults(page())) == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"answer": "It falls to 3.4 %."}, "prints 3.4 in its answer"),
        ({"answer": "It falls to 3.14 %."}, "prints 3.14 in its answer"),
        ({"numbers": ()}, "prints 0.2, 3.1 in its answer"),
        ({"source": 'sheet.box("In five runs")'}, "typed count of runs ('five runs')"),
        ({"source": 'sheet.box("In 2 of 5 seeds")'}, "typed count"),
        ({"source": 'tables.prose("In one run it")'}, "typed count of runs ('one run"),
        ({"title": "Two arms agree"}, "says 'arms', a word of its makers"),
        ({"caption": "Sooner by two looks."}, "says 'two looks'"),
        ({"reads": ""}, "no sentence (`reads`) for its row 'a'"),
    ],
)
def test_what_is_wrong_with_a_top_is_one_sentence(change, fault):
    (sentence,) = tops.faults(page(**change))
    assert fault in sentence


def test_a_comma_after_a_setting_is_none_of_its_digits():
    answer = "A VGG-11 of width 512, trained on 1,000 images, keeps 40 classes."
    assert tops.unshown(answer, "width 512, 1,000 images", [40]) == []


def test_names_settings_and_rows_that_judge_nothing_are_left_alone():
    answer = "Liu et al. (2026), Figure 3: float32, β2 and width 200 in 20,000 epochs."
    assert list(tops.faults(page(answer=answer, numbers=(), n=0, reads=""))) == []
    assert list(tops.faults(page(extra=True, reads=""))) == []


@pytest.mark.parametrize(
    ("words", "number", "is_same"),
    [
        ("95", 0.951, True),
        ("95", 0.956, False),
        ("56,000", 56_500, True),
        ("56,000", 56_600, False),
        ("0.25", 0.2549, True),
        ("1e-5", 1e-5, True),
        ("1e-5", 1e-4, False),
        ("0", 0.4, True),
    ],
)
def test_a_number_in_words_is_one_that_rounds_to_it(words, number, is_same):
    assert (tops.unshown(f"It is {words}.", "", [number]) == []) is is_same


@pytest.mark.parametrize(
    ("sentence", "untrue"),
    [
        ("It holds in two of five seeds.", []),
        ("It fails in three of five seeds.", []),
        ("It has five runs.", []),
        ("It holds in four of five seeds.", ["four of five seeds"]),
        ("It holds in 5 of 5 runs.", ["5 of 5 runs"]),
        ("It has ten runs.", ["ten runs"]),
    ],
)
def test_a_summary_tells_no_more_runs_than_a_row_has(sentence, untrue):
    assert summaries.untrue(sentence, [{"held": 2, "n": 5}]) == untrue
    assert summaries.untrue(sentence, []) == []  # nothing to hold it against


def test_a_count_is_held_against_the_pages_of_its_own_point():
    text = "Front.\n\n* One of [Figure 1](fig01_a.ipynb).\n* Two.\n\n| a | table |"
    assert summaries.parts(text) == [
        "Front.",
        "* One of [Figure 1](fig01_a.ipynb).",
        "* Two.",
    ]
    path = pages.find("singh2026/fig05")
    mine = summaries.claims_behind(path.with_name("index.md"), f"({path.stem}.ipynb)")
    every = summaries.claims_behind(path.with_name("index.md"), "no link")
    assert 0 < len(mine) < len(every)
    assert list(summaries.faults()) == []
