"""Tables say what was trained, in one format of numbers, to screen readers too."""

import math
from dataclasses import replace

import pytest
from bs4 import BeautifulSoup
from helpers import arm, experiment
from pandas import Series

from claimbook import evidence, papers, tables
from claimbook.errors import UnknownName
from claimbook.experiment import Arm, Experiment, Spec
from claimbook.records import Record
from claimbook.tables.html import number


def about(finished="2026-11-21", device="AMD EPYC", rate=1234.0):
    told = {"device_name": device, "torch": "2.13.0", "matmul": "onednn"}
    told |= {"digest": "0", "commit": "abc1234", "finished": finished, "seconds": 90.0}
    return told | {"epochs_per_second": rate, "uncommitted": False}


@pytest.fixture
def record():
    """Three arms of which two have seeds, one of them both of two."""
    arms = arm("a"), arm("b", alpha=2.0), arm("c", dtype="float64")
    plan: Experiment = experiment(*arms, seeds=(42, 0), name="prieto2025/fig16")
    members = {"a|42": about(), "a|0": about(finished="2026-11-22", rate=1500.0)}
    return Record(plan, None, members | {"b|0": about()}, {})


def cells(shown, place=0):
    """The rows of one table, its head first."""
    table = BeautifulSoup(shown.html, "html.parser").find_all("table")[place]
    rows = table.find_all("tr")
    return [[cell.text for cell in row.find_all(["th", "td"])] for row in rows]


def test_a_grid_shows_words_as_they_are_and_tells_screen_readers_what_it_is():
    shown = tables.grid(["a < b", "n"], [["M+A*", "1"]], caption="a < b")
    assert shown.text == "a < b | n\nM+A* | 1"
    assert "a &lt; b</th>" in shown.html
    soup = BeautifulSoup(shown.html, "html.parser")
    assert soup.table.find().name == "caption"
    assert soup.caption.text == "a < b"
    assert [th["scope"] for th in soup.thead.find_all("th")] == ["col", "col"]
    assert cells(shown) == [["a < b", "n"], ["M+A*", "1"]]
    cell = tables.Html("<b>1</b>", "1")
    assert "<td><b>1</b></td><td>&lt;</td>" in tables.grid("ab", [[cell, "<"]]).html


def test_arms_and_seeds_that_nobody_trained_are_told(record):
    shown = tables.training_tables(record)
    rows = [["a", "—", "42, 0"], ["b", "2", "0"]]
    assert cells(shown, 1) == [["Arm", "logits times", "Seeds"], *rows]
    line = "1 arm of this experiment is not trained yet: c."
    assert f"</table><p>{line}</p></details>" in shown.html
    assert shown.text.endswith(line)
    (part,) = BeautifulSoup(shown.html, "html.parser")("details")[1:]
    assert part.summary.text == "The 2 arms of fig16 and their seeds"
    assert part.caption.text == part.summary.text
    assert part.caption["class"] == ["visually-hidden"]
    settings = dict(row[:2] for row in cells(shown))
    assert [*settings][1:] == [
        *tables.settings_in_words(arm()),
        "logits times",
        "seeds",
        "scale",
    ]
    assert settings["weights"] == "float32"  # an arm that nobody trained is not asked
    assert settings["logits times"] == "differs by arm"
    assert settings["seeds"] == "2: 42, 0"
    del record.members["b|0"], record.members["a|0"]
    shown = tables.training_tables(record)
    assert "The arm of fig16 and its seeds" in shown.text
    assert "2 arms of this experiment are not trained yet: b, c." in shown.text
    assert ["seeds", "1 of 2: 42"] in [row[:2] for row in cells(shown)]
    record.members.update({"b|0": about(), "c|42": about()})
    assert "<p>" not in tables.training_tables(record).html


def test_settings_stand_beside_those_of_the_paper(record, tmp_path, monkeypatch):
    monkeypatch.setenv("GROKBOOK_HOME", str(tmp_path))
    path = tmp_path / "book" / "prieto2025" / "settings.yaml"
    path.parent.mkdir(parents=True)
    text = "fig16: {paper: {weights: float16}}\ntab01: {list: [[prime, '97', E, '97']]}"
    path.write_text(text)
    assert tables.stated("prieto2025/tab01") == [["prime", "97", "E", "97"]]
    record.experiment = replace(record.experiment, reduced="width 8")
    shown = cells(tables.training_tables(record))
    assert shown[0] == ["Setting", "Here (fig16)", "Paper"]
    assert shown[-2:] == [["scale", "smoke", "paper"], ["reduced", "width 8", "—"]]
    assert ["weights", "float32", "float16"] in shown
    assert ["loss", "softmax cross entropy", "not stated"] in shown
    path.write_text(text.replace("}}", "}, code: {weights: half}}"))
    shown = tables.training_tables(record)
    assert ["weights", "float32", "float16", "half"] in cells(shown)
    assert "of fig16, beside the paper&#x27;s and the official code" in shown.html
    path.write_text("fig16: {papr: {weights: float16}}\ntab01: {lists: []}")
    said = "key in book/prieto2025/settings.yaml, page fig16: 'papr': use one of paper"
    with pytest.raises(UnknownName, match=said):
        tables.training_tables(record)
    with pytest.raises(UnknownName, match="page tab01: 'lists': use one of list"):
        tables.stated("prieto2025/tab01")
    path.unlink()
    assert "not stated" not in tables.training_tables(record).html


def test_settings_of_the_book_are_those_that_some_experiment_has():
    """A misspelt one would be left out of its table in silence."""
    names = {"seeds", "scale", "reduced"}
    names |= {"schedule.over", "schedule.warmup"}  # papers warm up where nothing does
    for page in papers.names():
        for one in papers.get(page, "paper").arms:
            names.update(tables.settings_in_words(one))
    for page in papers.names():
        for key, said in tables.page_entries(page, "settings").items():
            assert key == "list" or not {*said} - names, f"{page}: {key}"


def test_settings_in_words():
    values = (1e5, 1e6, 1e-8, 2.5e-10, 0.001, 1 / 3, 34500)
    told = ["100,000", "1e6", "1e-8", "2.5e-10", "0.001", "0.333333", "34,500"]
    assert [*map(number, values)] == told
    options = {"samples": 2000, "bias": False, "betas": (0.9, 0.98)}
    plain = {"dataset": "sparse parity", "dataset.samples": "2,000"}
    plain |= {"dataset.bias": "False", "dataset.betas": "(0.9, 0.98)", "model": "m"}
    plain |= {"loss": "l", "optimizer": "o", "optimizer.lr": "0.1"}
    specs = Spec("sparse_parity", **options), *map(Spec, "ml"), Spec("o", lr=0.1)
    one = Arm("a", *specs, epochs=3000, log=1)
    whole = {"epochs (full batch)": "3,000", "weights": "float32"}
    assert tables.settings_in_words(one) == plain | whole
    parts = {"batch_size": 1024, "later_loss": (6000, Spec("loss", rows=1000))}
    said = {"loss from epoch": "6,000: loss(rows=1,000)", "steps": "3,000"}
    said |= {"batch size": "1,024", "schedule": "constant", "augmentation": "none"}
    said |= {"weights": "float32"}
    assert tables.settings_in_words(replace(one, **parts)) == plain | said
    parts |= {"wrappers": (Spec("clip", norm=0.5), Spec("centre"))}
    parts |= {"penalties": (Spec("l2", strength=5e-5),), "schedule": Spec("cosine")}
    parts |= {"augment": Spec("crop", size=8), "autocast": "bfloat16"}
    parts |= {"dtype": "float64", "alpha": 0.5, "init_scale": 3.0}
    said |= {"gradient": "clip(norm=0.5); centre()", "penalties": "l2(strength=5e-5)"}
    said |= {"schedule": "cosine()", "augmentation": "crop(size=8)"}
    said |= {"weights": "float64", "autocast": "bfloat16", "logits times": "0.5"}
    said |= {"initial weights times": "3"}
    assert tables.settings_in_words(replace(one, **parts)) == plain | said
    whole |= {"schedule": "cosine()", "augmentation": "crop(size=8)"}
    changed = replace(one, schedule=Spec("cosine"), augment=Spec("crop", size=8))
    assert tables.settings_in_words(changed) == plain | whole


def test_provenance_begins_with_the_command(record):
    shown = tables.provenance(record)
    head, row = cells(shown)
    assert head == ["Made by", "Record (SHA-256)", "Members", "Device", "Finished"]
    made = ["grokbook run prieto2025/fig16 --scale smoke"]
    made += [f"fig16.smoke ({record.digest[:12]})", "3 of 6", "AMD EPYC"]
    assert row == [*made, "2026-11-21 to 2026-11-22"]
    soup = BeautifulSoup(shown.html, "html.parser")
    assert len(soup("table")) == 2 and len(soup.select("details table")) == 1
    details = ["fig16.smoke", "torch 2.13.0; onednn", "abc1234", "4.5", "1,234"]
    assert cells(shown, 1)[1] == details
    one = replace(record, members={"b|0": about()})
    assert cells(tables.provenance(one))[1][2:] == ["1 of 6", "AMD EPYC", "2026-11-21"]
    record.members["a|0"]["uncommitted"] = True
    told = "3 of 6; trained by uncommitted code: 1 of 3 members"
    assert cells(tables.provenance(record))[1][2] == told
    # the points of the paper too, also of a page without records
    cited = {"name": "prieto2025/fig04", "sha256": "ab" * 32, "path": "a & b.ipynb"}
    cited |= {"repository": "https://example.org/code", "commit": "cd" * 20}
    line = (
        "The paper's own points, prieto2025/fig04 (SHA-256 abababababab): a & b.ipynb "
        "of https://example.org/code at commit cdcdcdcdcdcd."
    )
    shown = tables.provenance(record, references=[cited])
    assert line in shown.text
    assert BeautifulSoup(shown.html, "html.parser").p.text == line
    assert tables.provenance(references=[cited]).text == line


def test_prose_loses_the_indentation_of_its_source():
    text = "\n        The {term}`delay`.\n\n        * One,\n            as $x$.\n    "
    told = "The {term}`delay`.\n\n* One,\n    as $x$."
    bundle = tables.prose(text)._repr_mimebundle_()
    assert bundle == {"text/plain": told, "text/markdown": told}


def test_a_value_as_a_sentence_has_it():
    never = math.inf
    for values, show, said in (
        ([4450.0, 4100.0, 5000.0], "{:,.0f}", "4,450 (4,100 to 5,000)"),
        ([4450.0], "{:,.0f}", "4,450"),
        ([1.0, 2.0, 3.0, 4.0], "{:g}", "2 (1 to 4)"),
        ([0.951, 0.949], "{:.1%}", "94.9\xa0% and 95.1\xa0%"),
        ([never, 100.0], "{:,.0f}", "100 and never"),
        ([100.0, never, never], "{:,.0f}", "never (100 to never)"),
        ([never, never], "{:,.0f}", "never"),
        ([1.01, 1.02], "{:.1f}", "1.0"),
        ([1.0, math.nan], "{:.1f}", "no value (seed 1)"),
        ([], "{:.1f}", "not run"),
    ):
        assert evidence.told(Series(values, dtype=float), show) == said
    assert evidence.told(Series(dtype=float), nothing="no jump") == "no jump"


def test_a_recipe_names_what_arms_share_and_both_values_where_they_differ():
    adam = Spec("adamw", lr=0.001, betas=(0.9, 0.98), weight_decay=0.0, fused=True)
    plain = arm("a", model=Spec("mlp", widths=(20, 20)), optimizer=adam)
    radius = Spec("radius", strength=0.05)
    other = replace(plain, loss=Spec("stablemax_cross_entropy"), penalties=(radius,))
    told = "MLP, 2 layers of width 20 · cross-entropy / StableMax cross-entropy · "
    told += "AdamW, lr 0.001, betas 0.9 and 0.98, no weight decay · "
    told += "activation penalty, strength 0.05 (in some) · 30 epochs"
    assert tables.recipe([plain, other]).partition(" · ")[2] == told
    rates = [replace(plain, optimizer=Spec("sgd", lr=float(lr))) for lr in range(4)]
    uneven = Spec("mlp", widths=(20, 10))
    some = {"batch_size": 2, "penalties": (radius,), "model": uneven}
    told = "MLP, layers of width 20 and 10 · cross-entropy · SGD, lr 0 / … / 3 · "
    told += "activation penalty, strength 0.05 · 30 steps"
    found = tables.recipe([replace(one, **some) for one in rates])
    assert found.partition(" · ")[2] == told
    assert "SGD, lr 0 / 1 / 2 · " in tables.recipe(rates[:3])
    assert tables.recipe([plain, replace(plain, batch_size=2)]).endswith(" · 30 steps")
    assert tables.recipe([]) == ""
    data = Spec("sparse_parity", samples=2000, train_fraction=0.5)
    sizes = {"depth": 2, "width": 128, "norm": "batch"}
    loss = Spec("softmax_cross_entropy", dtype="float64", smoothing=0.1)
    sgd = Spec("sgd", lr=0.1, momentum=0.9, eps=1e-8, weight_decay=0.01)
    one = arm("a", dataset=data, model=Spec("mlp", **sizes), loss=loss, optimizer=sgd)
    told = " · MLP, 2 layers, width 128, norm batch"
    told += " · cross-entropy, in float64, smoothing 0.1"
    told += " · SGD, lr 0.1, momentum 0.9, eps 1e-8, weight decay 0.01 · 30 epochs"
    parity = "sparse parity, 50\xa0% of the pairs, 2,000 samples"
    assert tables.recipe([one]) == parity + told
    few = replace(one, dataset=Spec("mnist", train_samples=200))
    assert tables.recipe([few]) == "MNIST, 200 images" + told
    still = replace(one, optimizer=Spec("sgd", momentum=0.0))
    assert tables.recipe([still]).endswith("SGD, no momentum · 30 epochs")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("{paper: {steps: '100,000'}}", "30 of 100,000 steps"),
        ("{paper: {epochs (full batch): '31'}}", "30 of 31 epochs"),
        ("{paper: {epochs (full batch): 40 steps}}", "30 of 40 steps"),
        ("{paper: {steps: many}, code: {steps: '40'}}", "30 of 40 steps"),
        ("{paper: {steps: '30'}, code: {steps: '40'}}", ""),
        ("{notes: {steps: '40'}}", ""),
    ],
)
def test_a_shorter_training_is_told_with_the_papers(
    record, tmp_path, monkeypatch, settings, said
):
    monkeypatch.setenv("GROKBOOK_HOME", str(tmp_path))
    path = tmp_path / "book" / "prieto2025" / "settings.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(f"fig16: {settings}")
    assert tables.reduced_length(record, "a") == said
