"""Experiments as data: identities, names that exist; rows, and their scales."""

from dataclasses import fields, replace
from itertools import product

import pytest
import torch
from golden.arms import ARMS
from helpers import ENCODER, MLP, arm

from claimbook import names, papers
from claimbook.engine import build
from claimbook.errors import BookError
from claimbook.experiment import NOT_TRAINED, SCALES, Arm, Spec
from claimbook.papers import END, Registry, Size, experiment, row, shared, shrink

CHANGES = {"name": "other", "dataset": Spec("modular", p=13), "model": ENCODER}
CHANGES |= {"loss": Spec("softmax_cross_entropy", dtype="float16"), "dtype": "float64"}
CHANGES |= {"optimizer": Spec("adamw", lr=0.02, eps=1e-8), "epochs": 31, "log": 2}
CHANGES |= {"wrappers": (Spec("orthogonal"),), "penalties": (Spec("l2", strength=1.0),)}
CHANGES |= {"alpha": 2.0, "init_scale": 2.0, "batch_size": 8, "eval_batch": 4}
CHANGES |= {"later_loss": (3, Spec("softmax_cross_entropy")), "stop": 0.5}
CHANGES |= {"keep": (1,), "keep_dtype": "float16", "keep_seeds": (0,), "trace": True}
CHANGES |= {"observables": ("core",), "rarely": (10, ("norms",)), "through_nan": True}
CHANGES |= {"schedule": Spec("cosine", warmup=2), "augment": Spec("crop_flip", size=8)}
CHANGES |= {"autocast": "bfloat16", "batch_statistics": True, "after_stop": 5}


def network(spec):
    with torch.device("meta"):
        return names.resolve("model", spec)(**names.options(spec))


def test_what_every_experiment_names_exists():
    """And can be built, but for its data, which may be large."""
    kinds, smoke = {}, {}
    for name, scale in product(papers.names(), SCALES):
        every = papers.get(name, scale)
        called = {one.name for one in every.arms}
        assert len(called) == len(every.arms), f"{name}: two arms share a name"
        assert scale == "laptop" or every.reduced == ""
        for one in every.arms:
            if scale == "smoke":
                smoke[str(one.model)] = one.model
            else:
                kinds |= {build.stack_key(one): one, str(one.optimizer): one}
    for one in (*kinds.values(), *ARMS):
        build.check(one)
        for spec in one.penalties:
            if hasattr(names.resolve("penalty", spec), "reads_taps"):
                site = spec.options.get("site", "pre")
                places = network(one.model).places
                assert any(f"{place}.".startswith(f"{site}.") for place in places)
    for spec in smoke.values():
        assert sum(p.numel() for p in network(spec).parameters()) < 200_000


def test_identities_change_exactly_when_they_must():
    """The hash with every field; the training key with those that train."""
    assert set(CHANGES) == {field.name for field in fields(Arm)}
    plain = arm()
    changed = {n: replace(plain, **{n: value}) for n, value in CHANGES.items()}
    hashes = {plain.hash(), *(one.hash() for one in changed.values())}
    assert len(hashes) == 1 + len(CHANGES)
    keys = {n: one.training_key for n, one in changed.items()}
    assert {n for n, key in keys.items() if key == plain.training_key} == NOT_TRAINED
    trained = [key for n, key in keys.items() if n not in NOT_TRAINED]
    assert len(set(trained)) == len(trained)
    assert arm(alpha=1.0, keep=()).hash() == plain.hash()
    swapped = arm(optimizer=Spec("adamw", eps=1e-8, lr=0.01))
    assert swapped.training_key == plain.training_key
    # records are found by the training key: a new field must not change it
    assert plain.hash() == "69773bba4fe680b0"
    figure2 = papers.get("prieto2025/fig02", "paper").arms[0]
    assert figure2.hash() == "39583fce3803c026"
    assert figure2.training_key == "0be8631840dbdcad"


def test_every_smoke_test_is_tiny_and_keeps_the_classes_of_its_modulus():
    for name in papers.names():
        paper, laptop, smoke = (papers.get(name, scale) for scale in SCALES)
        every = {one.name for one in smoke.arms}
        assert {one.name for one in laptop.arms} <= every
        assert len(every) >= len(paper.arms) > 0, name
        for one in smoke.arms:
            assert one.epochs == 6 and (one.batch_size or 0) <= 4
    for data, options, expected in (
        ({"p": 97}, {"classes": 98, "vocabulary": 99}, [11, 12, 13]),
        ({"p": 113, "encoding": "binary"}, {"classes": 113}, [113, "binary", 113]),
        ({}, {"classes": 10, "vocabulary": 5000}, [10, 256]),
        ({"p": 7}, {"classes": 8}, [7, 8]),
    ):
        data, model = Spec("modular", **data), Spec("mlp", **options)
        small = shrink(arm(dataset=data, model=model))
        found = [*small.dataset.options.values(), *small.model.options.values()]
        assert found == expected


def test_a_smoke_test_changes_the_length_and_limits_the_options():
    """And gives no setting to an arm that has not got it."""
    one = arm(**CHANGES)
    sizes = {"classes": 9, "vocabulary": 9, "width": 8, "hidden": (16,)}
    small = {"dataset": Spec("modular", p=11), "epochs": 6, "log": 3, "keep": (0, 6)}
    small["model"] = Spec("transformer", **ENCODER.options | sizes)
    small |= {"later_loss": (3, one.later_loss[1]), "rarely": (3, one.rarely[1])}
    assert shrink(one) == replace(one, **small, batch_size=4, eval_batch=4)
    mlp = Spec("mlp", **MLP.options | {"widths": (8,)})
    assert shrink(arm()) == arm(model=mlp, epochs=6, log=3)


def test_rows_have_what_all_share_unless_they_say_otherwise():
    softmax, exact = Spec("softmax_cross_entropy"), Spec("exact_cross_entropy")
    registry = Registry(
        "new", seeds=(5, 6, 7), seed_count=Size(3, 1), loss=softmax, log=10
    )

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

    paper, laptop, smoke = every = [registry["fig1"](scale) for scale in SCALES]
    about = [(e.name, len(e.seeds), e.reduced, len(e.arms)) for e in every]
    assert about == [
        ("new/fig1", 3, "", 3),
        ("new/fig1", 1, "less", 2),
        ("new/fig1", 2, "", 3),
    ]
    a, b, c = paper.arms
    assert [(one.name, one.loss, one.log, one.keep) for one in paper.arms] == [
        ("a", softmax, 10, (0, 900)),
        ("b", exact, ((50, 10), (800, 20)), (0, 800)),
        ("c", exact, 10, (0, 900)),
    ]
    assert c.optimizer.name == "sgd"
    assert (a.dataset.options["p"], a.model.options["widths"]) == (97, (512, 512))
    a, b = laptop.arms
    assert (a.epochs, a.dataset.options["p"], b.log[1]) == (90, 59, (80, 20))
    assert smoke.arms[2].loss == softmax
    assert smoke.arms[2].model == Spec("mlp", classes=11, widths=(8, 8))
    assert row("") == {"name": ""}
    with pytest.raises(BookError, match="new has two 'fig1': rename one"):
        registry.section(figures)
    (d,) = registry["fig2"]("paper").arms
    assert (registry["fig2"]("paper").seeds, d.keep, d.loss) == ((5, 6), (), softmax)
