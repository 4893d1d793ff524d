"""One setting changed: what can be typed, what it trains, and where that is filed."""

import ast
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.utils import new_document
from helpers import arm, experiment
from recorded import result

from book._ext import pages, suggestions
from claimbook import change, papers, records
from claimbook.errors import BookError
from claimbook.experiment import Spec
from claimbook.project import home

RUN = suggestions.SECTION
QUICK = Spec("adamw", lr=0.05, weight_decay=1, betas=(0.9, 0.99))
TINY = experiment(arm("plain", log=10), arm("decay 1", log=10, optimizer=QUICK))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "optimizer.lr",
            "'optimizer.lr' is not a setting: write a name and a value, as",
        ),
        ("=3", "'=3' is not a setting"),
        (
            "dataset.operation=a*a + b",
            "'+' is not a setting: write a name and a value, as in optimizer.lr=0.02, "
            "and a value that has blanks in quotes, as in dataset.operation='a*a + b'",
        ),
        ("optimizer.lr='0.02", "cannot be read: No closing quotation"),
        ("  ", "no setting is given: write one as in optimizer.lr=0.02"),
        ("optimizer.lr=1 epochs=9 optimizer.lr=2", "optimizer.lr is given twice: "),
        (
            "optimizer.rate=1",
            "unknown setting 'optimizer.rate': use one of optimizer.lr, optimizer.eps, "
            "optimizer",
        ),
        ("log=3", "unknown setting 'log': use one of dataset, "),  # only measured
        ("lr=0.1", "unknown setting 'lr': use optimizer.lr"),
        # another optimizer has other options, wherever in the text it stands
        (
            "optimizer=sgd optimizer.eps=1e-6",
            "unknown setting 'optimizer.eps': use one",
        ),
        (
            "optimizer.eps=1e-6 optimizer=sgd",
            "unknown setting 'optimizer.eps': use one",
        ),
        ("loss=stablemx", "unknown loss 'stablemx': use one of "),
        ("optimizer.lr=fast", "optimizer.lr cannot be 'fast': it is 0.01 in the book"),
        ("optimizer.lr={[]:1}", "optimizer.lr cannot be '{[]:1}': it is 0.01 in"),
        ("optimizer.lr=True", "so give a number"),
        ("optimizer.lr=1e999", "optimizer.lr cannot be inf: give a finite number"),
        ("optimizer.lr=-1", "optimizer.lr cannot be -1: give a number of at least 0"),
        ("optimizer.betas=0.9", "write several, as in optimizer.betas=(0.9,0.999)"),
        ("model.widths=()", "write several, as in model.widths=(16,)"),
        ("optimizer.betas=(0.9,1)", "cannot be 1: give a number of at most 0.999999"),
        ("epochs=20.5", "epochs cannot be 20.5: it is 30 in the book, so give a whole"),
        (
            "model.bias=1",
            "model.bias cannot be 1: it is False in the book, so give Tru",
        ),
        ("loss.dtype=32", "loss.dtype cannot be 32: it is 'float32' in the book, so g"),
        ("epochs=30", "epochs is 30 already in every arm that has it: nothing would"),
        ("optimizer.lr=0.5 model.bias=False", "model.bias is False already in every"),
    ],
)
def test_what_cannot_be_changed_is_said_in_a_sentence(text, said):
    with pytest.raises(BookError) as error:
        change.read(text).check([TINY])
    assert said in str(error.value) and "\n" not in str(error.value)


def test_arms_are_patterns_and_one_that_no_name_fits_is_told():
    only = change.read("optimizer.lr=0.2", ["decay*"])
    only.check([TINY])
    assert str(only) == "optimizer.lr = 0.2 (arms decay*)"
    assert only.altered(TINY) == ["decay 1"]
    with pytest.raises(BookError, match=r"unknown arm 'dekay\*': use one of decay 1"):
        change.read("optimizer.lr=0.2", ["dekay*"]).check([TINY])
    with pytest.raises(BookError, match="no experiment is trained here"):
        only.check([])
    for arms in ("decay*", ""):
        change.use("optimizer.lr=0.2", arms)
        assert change.in_use == (only if arms else replace(only, arms=[]))
    # what an arm leaves out is at its default, and 2 is written where 2.0 is meant
    halved = change.read("optimizer.weight_decay=2").of(TINY)
    assert [a.optimizer.options["weight_decay"] for a in halved.arms] == [2.0, 2.0]
    assert change.read("optimizer.weight_decay=0").altered(TINY) == ["decay 1"]
    # an option of a new name can be given beside it
    momentum = change.read("optimizer.momentum=0.5 optimizer=sgd")
    momentum.check([TINY])
    assert [a.optimizer for a in momentum.of(TINY).arms] == [
        Spec("sgd", lr=0.01, momentum=0.5),
        Spec("sgd", lr=0.05, weight_decay=1, momentum=0.5),
    ]


def test_what_hangs_together_is_changed_together():
    pulls = Spec("radius", strength=0.1), Spec("l2", strength=0.2)
    logged = arm(log=((10, 1), (30, 5)), keep=(0, 20, 30), penalties=pulls)
    (longer,) = change.read("epochs=25").of(experiment(logged)).arms
    assert (longer.log, longer.keep) == (((10, 1), (25, 5)), (0, 20, 25))
    every = change.read("penalties.strength=1 penalties.site=hidden alpha=3")
    both, plain = every.of(experiment(logged, arm())).arms
    pulls = Spec("radius", strength=1.0, site="hidden"), Spec("l2", strength=1.0)
    assert (both.penalties, both.alpha) == (pulls, 3.0)
    assert plain == arm(alpha=3.0)
    (formula,) = change.read("dataset.operation='a*a + b'").of(experiment(arm())).arms
    assert formula.dataset.options["operation"] == "a*a + b"
    (larger,) = change.read("dataset.p=13").of(experiment(arm())).arms
    assert larger.dataset.options == {"p": 13}
    assert [larger.model.options[n] for n in ("classes", "vocabulary")] == [13, 13]
    scalars = arm(
        dataset=Spec("modular", p=11, encoding="scalar"),
        model=Spec("mlp", vocabulary=0, features=2, widths=(16,), classes=11),
    )
    (larger,) = change.read("dataset.p=13").of(experiment(scalars)).arms
    assert [larger.model.options[n] for n in ("classes", "vocabulary")] == [13, 0]
    softmax = Spec("softmax_cross_entropy", dtype="float64", smoothing=0.1)
    phases = arm(loss=softmax, later_loss=(20, softmax))
    (other,) = change.read("loss=stablemax_cross_entropy").of(experiment(phases)).arms
    assert other.loss == Spec("stablemax_cross_entropy", dtype="float64")
    (deeper,) = change.read("model=transformer").of(experiment(arm())).arms
    assert {"classes", "vocabulary"} <= deeper.model.options.keys()
    (later,) = change.read("later_loss.dtype=float32").of(experiment(phases)).arms
    assert later.later_loss[1].options["dtype"] == "float32" and later.loss == softmax


def test_a_changed_arm_keeps_its_name_and_is_filed_apart(tmp_path):
    """So pages find it, and neither the book's records nor other reruns have it."""
    changed = change.read("optimizer.lr=0.02").of(TINY)
    assert [one.name for one in changed.arms] == ["plain", "decay 1"]
    assert (changed.name, changed.seeds) == (TINY.name, TINY.seeds)
    keys = [one.training_key for one in (*TINY.arms, *changed.arms)]
    assert len({*keys}) == 4
    records.add(TINY, result(TINY.arms[0], 0), tmp_path)
    assert len(records.missing(changed, tmp_path)) == 4
    records.add(changed, result(changed.arms[0], 0), tmp_path)
    assert len(records.missing(changed, tmp_path)) == 3
    assert records.load(TINY, tmp_path).members.keys() == {"plain|0"}
    assert len([*tmp_path.rglob("*.parquet")]) == 2
    for name in papers.names("prieto2025/fig15"):
        at_rate = change.read("optimizer.lr=0.015").of(papers.get(name, "laptop"))
        assert not records.recorded(at_rate)


def test_a_figure_whose_setting_is_one_everywhere_now_is_said():
    (sentence,) = change.read("optimizer.lr=0.2 epochs=9").levelled([TINY])
    said = "optimizer.lr was 0.01 to 0.05 in these arms, and is 0.2 in all of them now."
    assert sentence == said
    assert change.read("optimizer.lr=0.2", ["decay*"]).levelled([TINY]) == []
    named = experiment(arm(), arm(loss=Spec("softmax_cross_entropy", dtype="float64")))
    (sentence,) = change.read("loss.dtype=float16").levelled([named])
    assert sentence.startswith("loss.dtype was float32 and float64 in these arms")


def test_every_number_that_pages_offer_can_be_changed():
    for page_id in pages.sources():
        trained = pages.experiments(page_id, "laptop")
        if found := suggestions.of(page_id):
            found.check(trained)
            assert not found.levelled(trained)
    # where try.yaml has none it is the first setting that all runs share
    settings = {"dataset.train_fraction": 0.48}
    assert suggestions._raised(TINY.arms).settings == settings
    assert suggestions._raised(TINY.arms[:1]).settings == {"optimizer.lr": 0.02}
    apart = [arm(dataset=Spec("x"), epochs=at, optimizer=Spec("y")) for at in (1, 2)]
    assert suggestions._raised(apart) is None
    assert suggestions.of("prieto2025/fig03") is None  # trains nothing
    found = suggestions.of("prieto2025/fig15")
    assert suggestions.command("prieto2025/fig15", found) == (
        "make page PAGE=prieto2025/fig15 SCALE=laptop SET='optimizer.lr=0.02' "
        "ARMS='lr 0.05*'"
    )
    both = replace(found, settings={"optimizer.betas": (0.9, 0.99)}, arms=())
    assert suggestions.command("a/b", both).endswith("SET='optimizer.betas=(0.9,0.99)'")


def test_the_settings_that_the_readme_names_are_on_its_page():
    text = (home() / "README.md").read_text(encoding="utf-8")
    named = text.partition("or an option of one:")[2].partition(". ")[0]
    settings = re.findall("`([^`]+=[^`]+)`", named)
    trained = pages.experiments("prieto2025/fig15", "laptop")
    for setting in settings:
        change.read(setting).check(trained)
    assert len(settings) == 5


def test_the_command_stands_at_the_end_of_its_section():
    named = {"prieto2025/fig15": "fig15_weight_decay", "prieto2025/fig03": "fig03_x"}
    for page_id, file in named.items():
        sections = [nodes.section("", nodes.title("", name)) for name in ("Idea", RUN)]
        document = new_document("")
        document += sections
        env = SimpleNamespace(docname=f"{page_id.partition('/')[0]}/{file}")
        suggestions.write(SimpleNamespace(srcdir=Path("book"), env=env), document)
        found = [code.astext() for code in sections[1].findall(nodes.literal_block)]
        expected = suggestions.of(page_id)  # None for a page that trains nothing
        commands = [suggestions.command(page_id, expected)] if expected else []
        assert found == commands
        assert len(sections[0]) == 1


DRAWS = {"plot", "text", "annotate", "errorbar", "scatter"}


def placed_by_key(source):
    """Marks at a number that is the key of a run, in a loop over runs by their keys.

    A key is what a page wrote into the name of an arm. A reader may have changed the
    setting, and then the mark belongs elsewhere.
    """
    loops = [
        (node.target, node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.For) and ast.unparse(node.iter).endswith(".items()")
    ]
    for target, loop in loops:
        names = {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
        if not {"run", "epochs"} & names:
            continue
        for call in (node for node in ast.walk(loop) if isinstance(node, ast.Call)):
            function = ast.unparse(call.func).rpartition(".")[2]
            if call.args and function in {*DRAWS, "float"}:
                used = {n.id for n in ast.walk(call.args[0]) if isinstance(n, ast.Name)}
                if used & (names - {"run", "epochs"}):
                    yield ast.unparse(call)


@pytest.mark.parametrize(
    ("source", "many"),
    [
        ("for v, epochs in a.items():\n    axes.plot([v] * 2, epochs, 'o')", 1),
        ("for (r, s), run in a.items():\n    x = float(r) * float(s)", 2),
        ("for run in a.values():\n    axes.plot(run.settings.alpha, 1, 'o')", 0),
        ("for v, run in a.items():\n    plots.paper(axes, [v], [theirs[v]])", 0),
    ],
)
def test_a_mark_at_the_key_of_a_run_is_found(source, many):
    assert len([*placed_by_key(source)]) == many


def test_pages_place_a_run_by_its_settings_and_not_by_its_name():
    found = {
        page_id: [*placed_by_key(path.read_text("utf-8"))]
        for page_id, path in pages.sources().items()
    }
    assert not {page_id: calls for page_id, calls in found.items() if calls}
