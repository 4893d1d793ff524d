"""Keys are of what settings mean: neither defaults nor 1 and 1.0 make another one."""

import inspect
import json
import subprocess
import sys
from dataclasses import replace
from functools import cache

import pytest
import torch
from helpers import arm, experiment

from claimbook import canonical, names, papers, project, records
from claimbook.engine import pool
from claimbook.experiment import SCALES, Spec
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


def used():
    """ "kind/name" of every spec in an arm of today."""
    found = set()
    for name in papers.names():
        for scale in SCALES:
            for one in papers.get(name, scale).arms:
                for field, kind in canonical.KINDS.items():
                    value = getattr(one, field)
                    for spec in value if isinstance(value, tuple) else (value,):
                        if isinstance(spec, Spec):
                            found.add(f"{kind}/{spec.name}")
    return sorted(found)


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


def wrong(tables, which):
    """In sentences, where the tables are not as the signature of a spec is today."""
    defaults, floats = today(which)
    dropped, filled = (tables[kind].get(which, {}) for kind in ("dropped", "filled"))
    for option, default in defaults.items():
        default = canonical._numbers(default, are_floats=option in floats)
        if option not in dropped and option not in filled:
            yield (
                f"{option!r} of {which} is new: write its default, "
                f"{json.dumps(default)}, to `dropped` of defaults.json"
            )
        elif not canonical._is_same(filled.get(option, dropped.get(option)), default):
            yield (
                f"the default of {option!r} of {which} was changed: write what it is "
                f"now, {json.dumps(default)}, to `filled` of defaults.json, and arms "
                "that leave it out are trained anew"
            )
    for option in dropped.keys() | filled.keys():
        if option not in defaults:
            yield (
                f"{option!r} of {which} has no default any more: take it out of "
                "defaults.json, and write it out in the arms that left it out"
            )
    if floats != {*tables["floats"].get(which, ())}:
        yield f"`floats` of {which} in defaults.json are now {sorted(floats)}"


@pytest.mark.parametrize("which", used())
def test_the_tables_are_as_the_signatures_are(which):
    assert [*wrong(TABLES, which)] == []


def test_what_is_said_of_a_changed_default_and_a_new_option():
    which = "loss/softmax_cross_entropy"
    dropped = TABLES["dropped"][which]
    less = {name: value for name, value in dropped.items() if name != "smoothing"}
    new = TABLES | {"dropped": {which: less}}
    assert "'smoothing' of loss/softmax_cross_entropy is new" in "".join(
        wrong(new, which)
    )
    other = TABLES | {"dropped": {which: dropped | {"smoothing": 0.1}}}
    (said,) = wrong(other, which)
    assert "was changed: write what it is now, 0.0, to `filled`" in said
    gone = TABLES | {"dropped": {which: dropped | {"temper": 1.0}}}
    (said,) = wrong(gone, which)
    assert said.startswith(f"'temper' of {which} has no default any more")


def keys(*arms):
    return {one.training_key() for one in arms}


def adamw(**options):
    return arm(optimizer=Spec("adamw", **options))


def test_one_meaning_has_one_key():
    assert len(keys(adamw(lr=1), adamw(lr=1.0))) == 1
    betas = adamw(lr=0.01, betas=(0, 1)), adamw(lr=0.01, betas=[0.0, 1.0])
    assert len(keys(*betas)) == 1
    written = {"weight_decay": 0.0, "eps": 1e-8, "betas": (0.9, 0.999)}
    assert len(keys(adamw(lr=0.01), adamw(lr=0.01, **written))) == 1
    one, other = (arm(dataset=Spec("modular", p=p)) for p in (11, 11.0))
    assert keys(one) == keys(other)
    assert len(keys(arm(alpha=2), arm(alpha=2.0), arm(alpha=3))) == 2
    assert len(keys(arm(epochs=30), arm(epochs=30.0))) == 1
    later = (arm(later_loss=(n, Spec("stablemax_cross_entropy"))) for n in (3, 3.0))
    assert len(keys(*later)) == 1
    assert adamw(lr=1).hash() == adamw(lr=1.0).hash()


def test_another_meaning_has_another_key():
    assert len(keys(adamw(lr=1), adamw(lr=1.5), adamw(lr=1, eps=1e-9))) == 3
    rescaled = (arm(wrappers=(Spec("orthogonal", rescale=r),)) for r in (True, False))
    assert len(keys(*rescaled)) == 2
    widths = {"classes": 11, "vocabulary": 11, "widths": (16,)}
    biased = (arm(model=Spec("mlp", bias=bias, **widths)) for bias in (True, 1, False))
    assert len(keys(*biased)) == 3  # True is not 1


def test_a_default_that_changes_changes_the_key(monkeypatch):
    plain = arm(loss=Spec("stablemax_cross_entropy"))
    single, double = (
        arm(loss=Spec("stablemax_cross_entropy", dtype=dtype))
        for dtype in ("float32", "float64")
    )
    assert keys(plain) == keys(double)
    filled = {"loss/stablemax_cross_entropy": {"dtype": "float32"}}
    monkeypatch.setitem(canonical._tables("defaults"), "filled", filled)
    plain, single, double = (replace(one) for one in (plain, single, double))
    before = keys(double)
    assert keys(plain) == keys(single) != before
    assert keys(double) == before


def test_two_ways_of_writing_are_one_member(tmp_path):
    whole, decimal = (Spec("adamw", lr=lr) for lr in (1, 1.0))
    arms = arm("a", optimizer=whole), arm("b", optimizer=decimal)
    tiny = experiment(*arms, seeds=(0,))
    other = experiment(*arms, seeds=(0,), name="prieto2025/fig06c")
    todo = pool.tasks([tiny, other], tmp_path)
    assert len(todo) == 1
    assert pool.train(todo, device="cpu", processes=0) == 0
    assert len([*tmp_path.glob("prieto2025/*.parquet")]) == 1
    record = records.load(tiny, tmp_path)
    a, b = (record.series(name, "train_loss") for name in "ab")
    assert a.equals(b) and pool.tasks([tiny], tmp_path) == []


def test_keys_need_no_torch():
    code = "import sys; from claimbook.experiment import Arm, Spec; "
    code += "Arm('a', *[Spec('x')] * 4, 1, 1).training_key(); print(*sys.modules)"
    run = [sys.executable, "-c", code]
    loaded = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    assert not {"torch", "numpy", "pandas"} & {*loaded.split()}
