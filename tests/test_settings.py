"""The page Settings: what differs from a paper, and which runs are nearest."""

import json
from functools import cache

import numpy as np
import pytest
from browser import PHONE, shown
from py_mini_racer import MiniRacer

from book._ext import catalogue, settings
from claimbook import evidence, papers
from claimbook.errors import UnknownName
from claimbook.evidence import Run
from claimbook.project import home
from grokbook.models import transformer

NAMES = ("prieto2025/fig15fresh", "singh2026/fig04lr", "prieto2025/fig14")
DID = {"runs": 5, "fitted": "10", "reached": "20", "generalised": "30 (20 to 40)"}
DID |= {"lasting": 5, "end": "99 %"}
ASKED = "p = 97, one-layer transformer, lr 3e-4, decay 1"

# How long five searches in 1,300 runs take, in milliseconds.
SEARCHES = """() => {
  const index = JSON.parse(document.getElementById("runs-index").textContent);
  const book = nearest.unpack(index);
  while (book.runs.length < 1300) book.runs.push(...book.runs);
  return [1, 2, 3, 4, 5].map((step) => {
    const start = performance.now();
    nearest.find({ rate: 0.1 * step, width: 9, network: "MLP", decay: 1 }, book);
    return performance.now() - start;
  });
}"""


def row(name):
    plan = papers.get(name, "paper")
    return settings.Row(plan, {arm.name: plan.seeds for arm in plan.arms}, ())


def indexed(names, **did):
    """Experiments with their true settings, and results that are made up."""
    rows = [row(name) for name in names]
    runs = [
        {"experiment": one.name, "arm": arm.name, "scale": "paper"}
        | settings.values(arm)
        | DID
        | did
        for one in rows
        for arm in one.arms
    ]
    return rows, settings.index(rows, runs)


@cache
def small():
    return indexed(NAMES)


@cache
def engine():
    made = MiniRacer()
    script = (home() / "book/_ext/nearest.js").read_text(encoding="utf-8")
    made.eval(f"{script}; const book = nearest.unpack({small()[1]})")
    return made


def js(expression, *given):
    arguments = ", ".join(map(json.dumps, given))
    return json.loads(engine().eval(f"JSON.stringify(({expression})({arguments}))"))


def read(text):
    return js("(text) => nearest.parse(text, book)", text)


def searched(fields):
    """What the page makes of its fields: values, faults, sentences and runs."""
    code = "(fields) => {const got = nearest.understand(fields, book); "
    return js(
        f"{code}return {{...got, ...nearest.find(got.setting, book)}}; }}", fields
    )


def test_a_run_is_listed_with_its_settings_and_what_its_record_says():
    name = "prieto2025/fig15fresh"
    record = papers.record(name)
    rows, runs = settings.collected([], [name])
    assert [one.name for one in rows] == [name]
    for about in runs:
        arm = record.experiment.arm(about["arm"])
        assert about["rate"] == arm.optimizer.options["lr"]
        run = Run(record, arm.name)
        lasting = run.generalises(accuracy=0.95)
        assert about["runs"] == len(run.seeds) == 5
        assert about["lasting"] == np.isfinite(lasting).sum()
        assert about["generalised"] == evidence.told(lasting)


def test_a_number_is_printed_as_it_can_be_typed_again():
    """1/2250 with six digits, as in the tables, and not with sixteen or three."""
    shown = js("(one) => [nearest.say(one), nearest.say([1 - one, 5000])]", 1 / 2250)
    assert shown == ["0.000444444", "(0.999556, 5,000)"]
    rate = row("singh2026/fig04lr").arm_values[0]["rate"]
    (edge,) = [s for s in searched({"rate": "1e-9"})["sentences"] if "below" in s]
    low = min(one["rate"] for name in NAMES for one in row(name).arm_values)
    assert edge == f"No network was trained with a rate below {low:g}."
    typed = searched({"network": "transformer", "rate": f"{rate * (1 + 1e-6):.9f}"})
    assert not [s for s in typed["sentences"] if "rate" in s]


def test_settings_that_an_arm_leaves_out_are_at_their_defaults():
    mnist = settings.values(row("prieto2025/fig14").arms[0])
    assert mnist["eps"] is not None and mnist["modulus p"] is None
    assert mnist["added"] == "initial weights times 100"
    transformer = settings.values(row("singh2026/fig04lr").arms[0])
    assert (transformer["layers"], transformer["width"]) == (1, 128)


@pytest.mark.parametrize(
    ("setting", "words", "found"),
    [
        ("rate", "0.005; ⊥SGD 10", {0.005, 10}),
        ("rate", "divided by the square of alpha", set()),
        ("decay", "none (a), some (b)", {0}),
        ("width", "lost in our copy", set()),
        ("epochs", "100,000 steps", {100_000}),
        ("epochs", "100 passes", set()),
        ("eps", "1e-25 given, 1e-8 run", {1e-25, 1e-8}),
        ("betas", "(0.9, 0.99) given, (0.9, 0.999) run", {(0.9, 0.99), (0.9, 0.999)}),
        ("batch", "256 (full-batch)", {256, "all rows"}),
        ("loss", "StableMax cross-entropy", {"StableMax cross-entropy"}),
        ("loss", "softmax CE; mse", {"cross-entropy", "squared error"}),
        ("network", "one-layer transformer, 4 heads", {"transformer"}),
        ("task", "modular; add", {"addition"}),
        ("task", "not stated", set()),
    ],
)
def test_words_of_a_paper_are_read(setting, words, found):
    assert settings.said(setting, words) == found


def test_a_setting_differs_if_no_run_has_what_the_paper_states():
    rate = settings.Line("rate", "0.1, 0.2", "", (0.2, 0.3))
    assert not rate.differs("paper") and not rate.differs("code")
    assert settings.Line("rate", "0.1", "", (0.2, 0.3)).differs("paper")
    assert settings.Line("betas", "(0.9, 0.95)", "", ([0.9, 0.999],)).differs("paper")
    assert not settings.Line("added", "⊥Grad", "", ("⊥Grad, warmup",)).differs("paper")
    assert not settings.Line("rate", "0.1", "", ()).differs("paper")


def test_an_unknown_setting_is_a_sentence_and_silence_is_no_difference(monkeypatch):
    silent = row("basics/grokking")
    assert not silent.states("paper") and silent.differing("paper") == []
    stated = {"paper": {"optimizer.lrr": "0.1"}}
    monkeypatch.setattr(settings, "settings_of", lambda _: stated)
    with pytest.raises(
        UnknownName, match="prieto2025/settings.yaml, fig14.*optimizer.lr"
    ):
        _ = row("prieto2025/fig14").lines


@pytest.mark.parametrize(
    ("text", "fields", "ignored"),
    [
        (
            ASKED,
            {"modulus p": "97", "rate": "3e-4", "decay": "1", "layers": "1"}
            | {"network": "transformer"},
            [],
        ),
        ("lr: 3e-4\nweight_decay=1\n", {"rate": "3e-4", "decay": "1"}, []),
        (
            '{"optimizer": {"type": "adamw", "lr": 0.1, "betas": [0.9, 0.98]}, "n": 1}',
            {"optimizer": "AdamW", "rate": "0.1", "betas": "0.9, 0.98"},
            ["n"],
        ),
        (
            "optimizer:\n  name: Adam  # plain\n  lr: 0.1\nmodel:\n  widths: [64, 64]",
            {"optimizer": "AdamW", "rate": "0.1", "width": "64", "layers": "2"},
            [],
        ),
        (
            "--learning-rate 0.1 --wd 0 --beta2=0.98 --lrr 7",
            {"rate": "0.1", "decay": "0", "betas": "0.9, 0.98"},
            ["lrr"],
        ),
        ("model = unet", {}, ["model unet (no network of this book)"]),
        ("constructor: x, toString=1", {}, ["constructor", "toString"]),
        ("§§ (( %%% \0 ]:=", {}, []),
        ("", {}, []),
    ],
)
def test_a_configuration_is_read_leniently(text, fields, ignored):
    got = read(text)
    assert (got["fields"], got["ignored"]) == (fields, ignored)
    assert len(got["understood"]) == len(fields)


def test_the_nearest_runs_come_first_and_what_none_covers_is_said():
    got = searched(read(ASKED)["fields"])
    first = got["runs"][0]
    assert first["run"]["network"] == "transformer"
    assert first["run"]["rate"] * first["run"]["decay"] == pytest.approx(0.001)
    assert set(first["other"]) == {"modulus p", "rate"} and first["far"][0] == 0
    told = "Generalised for good at step 30 (20 to 40), in all 5 runs."
    told += " Above 95 % first at step 20, and below it again at times."
    assert first["told"] == told
    known = [arm.optimizer.options["lr"] for arm in row("singh2026/fig04lr").arms]
    told = f"No one-layer transformer was trained with a rate below {min(known):.3g}."
    assert told in got["sentences"]
    ties = [one for one in got["runs"] if one["far"] == got["runs"][0]["far"]]
    assert any("equally near" in one for one in got["sentences"]) == (len(ties) > 1)
    far = [one["far"] for one in got["runs"]]
    assert far == sorted(far) and len(far) == 8
    exact = searched({"network": "MLP", "rate": "0.001", "task": "MNIST"})
    assert exact["sentences"][0].startswith("No MLP on MNIST") or exact["runs"]


@pytest.mark.parametrize("p", [97, 100, 113])
def test_what_is_equal_on_paper_is_equally_near(p):
    """rate, decay and rate × decay: 1, 0.75 and 0.5 are as near, but for rounding."""
    _, text = indexed(["singh2026/fig04wd", "singh2026/fig03"])
    asked = {"modulus p": p, "network": "transformer", "rate": 3e-4, "decay": 1}
    found = js(
        "(text, asked) => nearest.find(asked, nearest.unpack(JSON.parse(text)))",
        text,
        asked,
    )
    assert any(s.startswith("6 runs are equally near") for s in found["sentences"])
    nearest = found["runs"][:6]
    assert len({str(one["far"]) for one in nearest}) == 1
    arms = [one["run"]["arm"] for one in nearest]
    plain_first = ["No LN", "A^v", "A^qk", "M+A^v"]
    assert arms == [*plain_first, "decay 0.5", "decay 0.75"]
    assert [one["apart"] for one in nearest] == [["decay", "norm"]] * 6


def test_a_row_says_where_a_norm_sits():
    norms = {
        arm.name: settings.values(arm)["norm"] for arm in row("singh2026/fig07").arms
    }
    assert norms["No LN"] == "no norm"
    attention = "before queries and keys, before values"
    assert norms["A*, RMSNorm"] == f"RMS norm {attention}"
    assert norms["M+A*, RMSNorm"] == f"RMS norm {attention}, before the MLP"
    both = papers.get("liu2026/fig03c", "paper").arm("both")
    inside, head = (
        "batch norm in every hidden layer",
        "batch norm before the last layer",
    )
    assert settings.values(both)["norm"] == f"{inside} and {head}"
    assert settings.values(row("liu2026/fig05").arms[0])["norm"] is None
    assert settings.PLACES.keys() >= transformer.NORM_AT.keys()


@pytest.mark.parametrize(
    ("did", "sentence"),
    [
        (
            {"lasting": 2, "generalised": "never (8,860 to never)"},
            "Generalised for good in 2 of 5 runs (median: never; earliest 8,860).",
        ),
        (
            {"runs": 2, "lasting": 1, "generalised": "150 and never"},
            "Generalised for good in 1 of 2 runs (one at step 150, one never).",
        ),
        (
            {"lasting": 0, "reached": "never (20 to never)"},
            "None of 5 runs generalised within 10,000 steps; they fitted the training "
            "set at step 10, and were above 95 % first (median: never; earliest 20).",
        ),
    ],
)
def test_runs_of_which_some_never_did_are_told_plainly(did, sentence):
    _, text = indexed(["singh2026/fig03"], **did)
    code = "(text) => nearest.find({rate: 1}, nearest.unpack(JSON.parse(text)), 1)"
    (only,) = js(code, text)["runs"]
    assert only["told"].startswith(sentence)


@pytest.mark.parametrize(
    ("fields", "faults"),
    [
        ({}, 0),
        ({"rate": "", "task": " "}, 0),
        ({"rate": "abc", "training share": "40"}, 2),
        ({"rate": "0", "decay": "-1", "betas": "0.9", "network": "unet"}, 4),
        ({"nonsense": "1", "constructor": "x"}, 0),
    ],
)
def test_what_is_no_setting_is_a_sentence(fields, faults):
    got = searched(fields)
    assert (got["setting"], got["runs"], len(got["faults"])) == ({}, [], faults)
    assert all(fault.endswith("it was left out.") for fault in got["faults"])


@pytest.fixture
def page(tmp_path):
    """The page without the book's theme."""
    rows, index = small()
    about = settings.filters([], rows), settings.definitions(), index
    path = tmp_path / "settings.html"
    text = catalogue.render("settings", rows, *about)
    path.write_text(f"<meta charset='utf-8'>{text}", encoding="utf-8")
    return path


def test_form_and_filters_share_the_address(chromium, page):
    with shown(chromium, page, PHONE) as shown_page:
        shown_page.fill("[name=text]", ASKED)
        shown_page.click("[name=read]")
        assert shown_page.locator(".own-runs li").count() == 8
        assert "Understood: modulus p 97" in shown_page.inner_text(".own-told")
        shown_page.select_option("select[name=network]:not([data-setting])", "MLP")
        assert "my.rate=3e-4" in shown_page.url and "&network=MLP" in shown_page.url
        visible = shown_page.locator("table.compared > tbody > tr:visible")
        assert visible.count() == 2 and visible.locator("details[open]").count() == 2
        address = shown_page.url
        assert min(shown_page.evaluate(SEARCHES)) < 100
        shown_page.click("form.own [type=reset]")
        shown_page.select_option("[data-setting=network]", "transformer")
        bold = shown_page.locator(".own-runs .run").first.locator("b")
        assert {*bold.all_inner_texts()} == {"rate 0.001", "decay 1", "10,000 steps"}
        assert shown_page.complaints == []
    with shown(chromium, address) as shown_page:
        assert shown_page.input_value("[data-setting=rate]") == "3e-4"
        assert shown_page.locator("table.compared > tbody > tr:visible").count() == 2


@pytest.mark.parametrize("end", ["#%%%=&&", "#my.rate=x&my.task=no&sort=99&a"])
def test_a_nonsense_address_shows_everything(chromium, page, end):
    with shown(chromium, page.as_uri() + end) as shown_page:
        assert shown_page.locator("table.compared > tbody > tr:visible").count() == 3
        assert "nearest runs appear here" in shown_page.inner_text(".own-told")
        assert shown_page.complaints == []


@pytest.mark.usefixtures("built")
def test_the_built_page_is_small_and_recipes_lead_to_it():
    html = home() / "_build" / "html"
    text = (html / "generated/settings.html").read_text(encoding="utf-8")
    index = text.partition('id="runs-index">')[2].partition("</script>")[0]
    assert 50_000 < len(index.encode()) < 400_000
    book = json.loads(index)
    assert len(book["runs"]["arm"]["at"]) > 1_000
    chapter = (html / "prieto2025/tab01_realistic.html").read_text("utf-8")
    assert 'settings.html#page=prieto2025/tab01">differs from the paper in' in chapter
