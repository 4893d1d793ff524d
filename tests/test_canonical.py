"""Keys are of what settings mean: neither defaults nor 1 and 1.0 make another one."""

import inspect
import json
from dataclasses import replace
from functools import cache

import pytest
import torch
from helpers import arm, experiment
from recorded import result

from claimbook import canonical, names, papers, project, records
from claimbook.engine import pool
from claimbook.experiment import Spec
from grokbook import losses
from grokbook.datasets import images
from grokbook.models.transformer import Layout

TABLES = json.loads((project.home() / "book" / "defaults.json").read_text())
# What takes the options that a function passes on, and which of them an arm may name.
TORCHS = {
    "optimizer/adamw": (torch.optim.AdamW, ("lr", "betas", "eps", "weight_decay")),
    "optimizer/sgd": (torch.optim.SGD, ("lr", "momentum", "weight_decay")),
}
PASSED_ON = {"loss": losses.softmax_cross_entropy, "dataset": images._cifar}
SIZES = ("positions", "depth", "width", "heads", "dropout", "attention")
NOT_OF_ARMS = {"reduction", "random"}  # set by who calls
STABLEMAX = Spec("stablemax_cross_entropy")


def used():
    """ "kind/name" of every spec in an arm of today."""
    every = [one for plan in papers.every() for one in plan.arms]
    specs = [pair for one in every for pair in one.specs()]
    return sorted({f"{canonical.KINDS[field]}/{spec.name}" for field, spec in specs})


def plain(value):
    """A default as JSON; a dtype by its name."""
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    return json.loads(json.dumps(value))


def signature(function):
    """(defaults, options that are floats) of a function, by name."""
    parameters = inspect.signature(function, eval_str=True).parameters
    known = {name: each for name, each in parameters.items() if name not in NOT_OF_ARMS}
    has = {n: plain(p.default) for n, p in known.items() if p.default is not p.empty}
    floats = {n for n, p in known.items() if "float" in str(p.annotation)}
    return has, floats


@cache
def today(which):
    """(defaults, options that are floats) of a spec, with those that it passes on."""
    kind, _, name = which.partition("/")
    function = names.resolve(kind, Spec(name))
    parameters = inspect.signature(function).parameters.values()
    passes_on = any(each.kind is each.VAR_KEYWORD for each in parameters)
    defaults, floats = {}, set()
    if which in TORCHS:
        theirs, options = TORCHS[which]
        defaults = {n: d for n, d in signature(theirs)[0].items() if n in options}
        floats = {*options}
    elif which == "model/transformer":
        defaults, floats = signature(Layout)
    elif kind == "model" and passes_on:
        needs_classes = any(each.name == "classes" for each in parameters)
        with torch.device("meta"):
            network = function(10) if needs_classes else function()
        layout = next(m.layout for m in network.modules() if hasattr(m, "layout"))
        defaults = {size: plain(getattr(layout, size)) for size in SIZES}
        floats = {"dropout"}
    elif passes_on:
        defaults, floats = signature(PASSED_ON[kind])
    own, own_floats = signature(function)
    return defaults | own, floats | own_floats


@pytest.mark.parametrize("which", used())
def test_the_tables_are_as_the_signatures_are(which):
    """What to do where they are not.

    The default of a new option goes to `dropped` of defaults.json. One that was changed
    goes to `filled`, and arms that leave it out are trained anew. An option that has no
    default any more is taken out, and written out in the arms that left it out.
    """
    defaults, floats = today(which)
    known = TABLES["dropped"].get(which, {}) | TABLES["filled"].get(which, {})
    for option, default in defaults.items():
        defaults[option] = canonical._numbers(default, are_floats=option in floats)
    # compared as they are written: True is not 1, nor 1.0
    assert sorted(map(repr, known.items())) == sorted(map(repr, defaults.items()))
    assert floats == {*TABLES["floats"].get(which, ())}


def keys(*arms):
    return {one.training_key for one in arms}


def adamw(**options):
    return arm(optimizer=Spec("adamw", **options))


def betas(*values):
    return adamw(lr=0.01, betas=values)


@pytest.mark.parametrize(
    "arms",
    [
        (adamw(lr=1), adamw(lr=1.0)),
        (betas(0, 1), adamw(lr=0.01, betas=[0.0, 1.0])),
        (adamw(lr=0.01), adamw(lr=0.01, eps=1e-8, weight_decay=0.0), betas(0.9, 0.999)),
        (arm(dataset=Spec("modular", p=11)), arm(dataset=Spec("modular", p=11.0))),
        (arm(alpha=2), arm(alpha=2.0)),
    ],
)
def test_one_meaning_has_one_key(arms):
    assert len(keys(*arms)) == len({one.hash() for one in arms}) == 1


def test_another_meaning_has_another_key():
    assert len(keys(adamw(lr=1), adamw(lr=1.5), adamw(lr=1, eps=1e-9))) == 3
    assert len(keys(arm(alpha=2), arm(alpha=3))) == 2
    rescaled = (arm(wrappers=(Spec("orthogonal", rescale=r),)) for r in (True, False))
    assert len(keys(*rescaled)) == 2
    widths = {"classes": 11, "vocabulary": 11, "widths": (16,)}
    biased = (arm(model=Spec("mlp", bias=bias, **widths)) for bias in (True, 1, False))
    assert len(keys(*biased)) == 3  # True is not 1


def test_a_default_that_changes_changes_the_key(monkeypatch):
    plain = arm(loss=STABLEMAX)
    single, double = (
        arm(loss=Spec("stablemax_cross_entropy", dtype=dtype))
        for dtype in ("float32", "float64")
    )
    assert keys(plain) == keys(double)
    filled = {"loss/stablemax_cross_entropy": {"dtype": "float32"}}
    tables = canonical._tables("defaults", project.home())
    monkeypatch.setitem(tables, "filled", filled)
    plain, single, double = (replace(one) for one in (plain, single, double))
    before = keys(double)
    assert keys(plain) == keys(single) != before
    assert keys(double) == before


def test_two_ways_of_writing_are_one_member(tmp_path):
    whole, decimal = (Spec("adamw", lr=lr) for lr in (1, 1.0))
    arms = arm("a", optimizer=whole), arm("b", optimizer=decimal)
    tiny = experiment(*arms, seeds=(0,))
    other = experiment(*arms, seeds=(0,), name="prieto2025/fig06c")
    assert len(pool.tasks([tiny, other], tmp_path)) == 1
    records.add(tiny, result(arms[0], 0, epochs=arms[0].logged_epochs()), tmp_path)
    assert {*records.load(tiny, tmp_path).members} == {"a|0", "b|0"}
    assert pool.tasks([tiny, other], tmp_path) == []
