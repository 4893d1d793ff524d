"""Experiments as rows: what a scale makes of them, and what a smoke test."""

from dataclasses import replace

from grokbook import papers
from grokbook.experiment import SCALES, Spec
from grokbook.papers import END, Registry, Size, experiment, row, shared, shrink


def test_every_smoke_test_is_tiny_and_keeps_the_classes_of_its_modulus():
    for name in papers.names():
        paper, laptop, smoke = (papers.get(name, scale) for scale in SCALES)
        every = [arm.name for arm in smoke.arms]
        assert {arm.name for arm in laptop.arms} <= {*every}
        assert len(every) >= len(paper.arms) > 0, name
        for arm in smoke.arms:
            assert arm.epochs == 6 and (arm.batch_size or 0) <= 4
    arm = papers.get("prieto2025/fig01a", "paper").arms[0]
    for data, options, expected in (
        ({"p": 97}, {"classes": 98, "vocabulary": 99}, [11, 12, 13]),
        ({"p": 113, "encoding": "binary"}, {"classes": 113}, [113, "binary", 113]),
        ({}, {"classes": 10, "vocabulary": 5000}, [10, 256]),
    ):
        data, model = Spec("modular", **data), Spec("mlp", **options)
        small = shrink(replace(arm, dataset=data, model=model))
        found = [*small.dataset.options.values(), *small.model.options.values()]
        assert found == expected


def test_rows_have_what_all_share_unless_they_say_otherwise():
    softmax, exact = Spec("softmax_cross_entropy"), Spec("exact_cross_entropy")
    registry = Registry("new", seeds=(5, 6, 7), count=Size(3, 1), loss=softmax, log=10)

    @registry.section
    def figures():
        yield experiment("fig1", "less")
        yield shared(dataset=Spec("modular", p=Size(97, 59)), optimizer=Spec("adamw"))
        widths = (Size(512, 128),) * 2
        yield shared(model=Spec("mlp", classes=Size(97, 59), widths=widths))
        yield shared(epochs=Size(900, 90), keep=(0, END))
        yield row("a")
        yield row("b", exact, log=((50, 10), (END, 20)), epochs=Size(800, 80))
        yield row("c", Size(exact, softmax), Spec("sgd", lr=1.0), only="paper")
        yield experiment("fig2", "no less", seeds=Size(2, 2))
        yield shared(dataset=Spec("modular"), model=Spec("mlp"), epochs=7)
        yield row("d", optimizer=Spec("sgd", lr=1.0))

    paper, laptop, smoke = (registry["fig1"](scale) for scale in SCALES)
    assert [one.name for one in (paper, laptop, smoke)] == ["new/fig1"] * 3
    assert [len(one.seeds) for one in (paper, laptop, smoke)] == [3, 1, 2]
    assert [one.reduced for one in (paper, laptop, smoke)] == ["", "less", ""]
    assert [[a.name for a in e.arms] for e in (paper, laptop)] == [[*"abc"], [*"ab"]]
    a, b, c = paper.arms
    assert (a.loss, b.loss, c.loss) == (softmax, exact, exact)
    assert (a.log, b.log) == (10, ((50, 10), (800, 20)))
    assert (a.keep, b.keep, c.optimizer.name) == ((0, 900), (0, 800), "sgd")
    assert (a.dataset.options["p"], a.model.options["widths"]) == (97, (512, 512))
    a, b = laptop.arms
    assert (a.epochs, a.dataset.options["p"], b.log[1]) == (90, 59, (80, 20))
    assert [one.name for one in smoke.arms] == ["a", "b", "c"]
    assert smoke.arms[2].model == Spec("mlp", classes=11, widths=(8, 8))
    other = registry["fig2"]("paper")
    (d,) = other.arms
    assert (other.seeds, d.keep, d.loss) == ((5, 6), (), softmax)
