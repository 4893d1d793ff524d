"""What moves on a page: explorables compute what torch, the package and the record say;
every number of the story has its row, and its figure follows the reader."""

import json
import re
from contextlib import contextmanager

import browser
import numpy as np
import pytest
import torch

from book import explore
from book._ext import notebooks
from book._ext.entries import entries
from grokbook.optimizers import orthogonal
from grokbook.project import home

SCRIPTS = home() / "book" / "_ext" / "static" / "explore"
NAMES = {  # -> a page that it stands in, beside explore.md
    "absorption": "prieto2025/fig03_stablemax",
    "orthogonal": "prieto2025/fig06_orthogonal_optimizers",
    "sweep": "singh2026/fig05_readout_scale",
}
LEADS = [step * 0.05 for step in range(920)]
LANES = {"AVX512": 16}.get(torch.backends.cpu.get_cpu_capability(), 8)
COMPUTE = """([leads, classes, type, lanes]) => leads.map((lead) => {
  const found = grokbook.arithmetic.crossEntropy(lead, classes, type, lanes);
  return [found.loss, found.correct, found.other, found.probability];
})"""
# Steps of a type, at 1 or at the value; processors round and add up differently.
SLACK = {"float16": 0, "bfloat16": 0, "float32": 2, "float64": 4}


@contextmanager
def loaded(chromium, scripts):
    """A page with scripts as text, each of which may have been damaged."""
    page = chromium.new_page()
    try:
        for text in scripts:
            page.add_script_tag(content=text)
        yield page
    finally:
        page.close()


def source(name):
    return (SCRIPTS / f"{name}.js").read_text(encoding="utf-8")


def of_torch(lead, classes, type_):
    logits = torch.zeros(1, classes, dtype=getattr(torch, type_))
    logits[0, 0] = lead
    logits.requires_grad_()
    loss = torch.nn.functional.cross_entropy(logits, torch.tensor([0]))
    loss.backward()
    first, other = logits.grad[0, :2].tolist()
    return loss.item(), first, other, logits.detach().softmax(-1)[0, 0].item()


def apart(page, classes, type_):
    """Largest distance from torch in steps, and where only one of both is 0."""
    theirs = np.array([of_torch(lead, classes, type_) for lead in LEADS])
    ours = np.array(page.evaluate(COMPUTE, [LEADS, classes, type_, LANES]))
    binade = 2.0 ** np.floor(np.log2(abs(theirs).clip(1)))
    steps = abs(ours - theirs) / (binade * torch.finfo(getattr(torch, type_)).eps)
    return steps.max(), int(((ours == 0) != (theirs == 0)).sum())


def test_the_arithmetic_is_that_of_torch(chromium):
    with loaded(chromium, [source("arithmetic")]) as page:
        for classes in (2, 10, 113):
            for type_, slack in SLACK.items():
                distance, zeros = apart(page, classes, type_)
                assert distance <= slack and zeros == 0, (classes, type_)


def stub():
    """`orthogonal.js` without the part that draws."""
    return "window.grokbook = {};\n" + source("orthogonal").split("\n(() => {")[0]


def test_the_projection_is_that_of_the_package(chromium):
    weights, rate = torch.tensor([2.0, 0.7], dtype=torch.float64), 0.5
    act = "([w, g, r]) => grokbook.orthogonal.split(w, g, r)"
    with loaded(chromium, [stub()]) as page:
        for rescale in (False, True):
            for gradient in ((1.0, 0.5), (-0.3, 0.8), (0.0, 0.0)):
                moved = torch.nn.Parameter(weights.clone())
                moved.grad = torch.tensor(gradient, dtype=torch.float64)
                optimizer = torch.optim.SGD([moved], lr=rate)
                orthogonal(optimizer, rescale=rescale, scope="tensor").step()
                found = page.evaluate(act, [weights.tolist(), gradient, rescale])
                ours = weights.numpy() - rate * np.array(found["kept"])
                np.testing.assert_allclose(ours, moved.tolist(), atol=1e-14)


def test_the_sweep_is_the_record():
    frame = explore.recorded()
    data = json.loads(json.dumps(explore.sweep(frame)))
    table = frame.set_index(["arm", "epoch", "seed"]).sort_index()
    assert {a for row in data["rules"].values() for a in row} == set(frame.arm)
    assert data["epochs"][0] == 0
    assert data["epochs"][-1] == frame.epoch.max()
    for name, kinds in data["arms"].items():
        for kind, members in kinds.items():
            assert len(members) == frame[frame.arm == name].seed.nunique()
            for at in (0, 20, 60, -1):
                found = table.loc[(name, data["epochs"][at]), f"{kind}_accuracy"]
                ours = [values[at] for values in members]
                np.testing.assert_allclose(ours, 100 * found, atol=0.05001)


HTML = home() / "_build" / "html"
built = pytest.mark.skipif(not HTML.exists(), reason="the book is not built")
# What a picture draws, in its own units: all of it is inside, zero beside an axis too.
CUT = """svg => [...svg.querySelectorAll("circle, text")].filter(one => {
  const {x, y, width, height} = one.getBBox(), {baseVal} = svg.viewBox;
  return x < 0 || y < 0 || x + width > baseVal.width || y + height > baseVal.height;
}).map(one => one.outerHTML)"""


@built
def test_every_explorable_answers_to_keyboard_and_pointer(chromium):
    for name, where in NAMES.items():
        with browser.shown(chromium, HTML / f"{where}.html", browser.PHONE) as page:
            place = page.locator(f'[data-explorable="{name}"]')
            picture = place.locator("svg")
            for control in place.locator("input, select").all():
                before = picture.inner_html()
                control.focus()
                select = control.evaluate("one => one.tagName") == "SELECT"
                page.keyboard.press("ArrowDown" if select else "ArrowRight")
                assert picture.inner_html() != before
                assert select or control.get_attribute("aria-valuetext")
            assert place.locator("[aria-live=polite]").inner_text()
            assert place.locator(".still").is_hidden()
            assert picture.evaluate(CUT) == []
            if name != "sweep":
                picture.scroll_into_view_if_needed()
                box, first = picture.bounding_box(), place.locator("input").first
                before = first.input_value()
                y = box["y"] + box["height"] / 2
                page.mouse.move(box["x"] + box["width"] / 2, y)
                page.mouse.down()
                page.mouse.move(box["x"] + 0.8 * box["width"], y - 20)
                page.mouse.up()
                assert first.input_value() != before
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
            assert page.complaints == []
        # without a script there are pictures and words
        with browser.shown(chromium, HTML / f"{where}.html", script=False) as page:
            still = page.locator(f'[data-explorable="{name}"] .still')
            assert still.locator("img").is_visible()
            assert len(still.locator("p").last.inner_text().split()) > 15
            assert page.locator(".live").count() == 0


STORY = HTML / "story" / "one_network.html"
LINK = r"<a href='\.\./([^#']+\.html#claim-[^']+)'>([^<]+)</a>"


def told():
    (entry,) = [one for one in entries() if one.id == "story/one"]
    parts = [t for _, t in notebooks.outputs(entry.twin, "text/markdown")]
    return "\n".join([entry.answer, *parts]), entry


def test_every_number_has_a_row_that_says_it():
    text, _ = told()
    rows = {e.address(c): c["ours"] for e in entries() for c in e.carried["claims"]}
    links = re.findall(LINK, text)
    assert len(links) >= 8
    for address, value in links:
        assert value.replace("\xa0", "").replace(" ", "") in rows[address].replace(
            "\xa0", ""
        ).replace(" ", ""), address
    rest = re.sub(LINK + r"|\]\([^)]*\)", "", text)
    assert not re.findall(r"\d", rest)


def test_words_and_data_are_few():
    text, entry = told()
    assert len(re.sub("<[^>]*>", "", text).split()) <= 700
    (data,) = [
        t for _, t in notebooks.outputs(entry.twin, "text/html") if "id='story'" in t
    ]
    assert len(data.encode()) < 300_000


@built
def test_steps_switch_the_figure_and_all_is_there_without_a_script(chromium):
    with browser.shown(chromium, STORY, script=False) as page:
        assert page.locator("article figure:visible").count() == 6
    with browser.shown(chromium, STORY) as page:
        assert page.locator(".steps > section").count() == 7
        for link in page.locator(".stage nav a").all():
            link.focus()
            page.keyboard.press("Enter")
            page.wait_for_timeout(1200)
        assert "softmax at epoch 4000" in page.locator(".stage svg").get_attribute(
            "aria-label"
        )
        assert not page.complaints
