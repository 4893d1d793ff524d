"""The story: every number has its row, and the figure follows the reader."""

import re

import browser
import pytest

from book._ext import notebooks
from book._ext.entries import entries
from grokbook.project import home

PAGE = home() / "_build" / "html" / "story" / "one_network.html"
built = pytest.mark.skipif(not PAGE.exists(), reason="the book is not built")
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
    with browser.shown(chromium, PAGE, script=False) as page:
        assert page.locator("article figure:visible").count() == 6
    with browser.shown(chromium, PAGE) as page:
        assert page.locator(".steps > section").count() == 7
        for link in page.locator(".stage nav a").all():
            link.focus()
            page.keyboard.press("Enter")
            page.wait_for_timeout(1200)
        assert "softmax at epoch 4000" in page.locator(".stage svg").get_attribute(
            "aria-label"
        )
        assert not page.complaints
