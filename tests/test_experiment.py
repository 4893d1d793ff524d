"""Experiments as data: JSON, identities, and names that exist."""

import json
import subprocess
import sys
from dataclasses import fields, replace

import pytest
import torch
from golden.arms import ARMS
from helpers import ENCODER, MLP, arm, experiment

from grokbook import names, papers
from grokbook.experiment import LOOKS, SCALES, Arm, Experiment, Spec

CHANGES = {
    "name": "other",
    "dataset": Spec("modular", p=13),
    "model": ENCODER,
    "loss": Spec("softmax_cross_entropy", dtype="float16"),
    "optimizer": Spec("adamw", lr=0.02, eps=1e-8),
    "epochs": 31,
    "log": 2,
    "wrappers": (Spec("orthogonal"),),
    "penalties": (Spec("l2", strength=1.0),),
    "dtype": "float64",
    "alpha": 2.0,
    "init_scale": 2.0,
    "batch_size": 8,
    "later_loss": (3, Spec("softmax_cross_entropy")),
    "split_seed": 0,
    "stop": 0.5,
    "keep": (1,),
    "keep_dtype": "float16",
    "keep_seeds": (0,),
    "observables": ("core",),
    "rarely": (10, ("norms",)),
    "schedule": Spec("cosine", warmup=2),
    "augment": Spec("crop_flip", size=8),
    "eval_batch": 4,
    "trace": True,
    "through_nan": True,
    "autocast": "bfloat16",
    "batch_statistics": True,
}


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", papers.names())
def test_json_round_trip(name, scale):
    before = papers.get(name, scale)
    after = Experiment.from_json(json.loads(json.dumps(before.to_json())))
    assert after == before
    assert [a.hash() for a in after.arms] == [a.hash() for a in before.arms]
    assert scale == "laptop" or before.reduced == ""
    assert {seed for _, seed in before.members()} == set(before.seeds)


@pytest.mark.parametrize("field", CHANGES)
def test_every_field_survives_json(field):
    one = arm(**{field: CHANGES[field]})
    assert Arm.from_json(json.loads(json.dumps(one.to_json()))) == one


def test_identities_change_exactly_when_they_must():
    """The hash with every field; the training key with those that train."""
    assert set(CHANGES) == {field.name for field in fields(Arm)}
    plain = arm()
    changed = {n: replace(plain, **{n: value}) for n, value in CHANGES.items()}
    hashes = {plain.hash(), *(one.hash() for one in changed.values())}
    assert len(hashes) == 1 + len(CHANGES)
    keys = {n: one.training_key() for n, one in changed.items()}
    assert {n for n, key in keys.items() if key == plain.training_key()} == LOOKS
    trained = [key for n, key in keys.items() if n not in LOOKS]
    assert len(set(trained)) == len(trained)
    assert arm(alpha=1.0, keep=()).hash() == plain.hash()
    swapped = arm(optimizer=Spec("adamw", eps=1e-8, lr=0.01))
    assert swapped.training_key() == plain.training_key()


def test_identities_do_not_move():
    """Records are found by the training key: a new field must not change it."""
    assert arm().hash() == "e687f8d7dfdf02bb"
    figure2 = papers.get("prieto2025/fig02", "paper").arms[0]
    assert figure2.hash() == "450445363deefd5d"
    assert figure2.training_key() == "0be8631840dbdcad"


def test_numbers_below_one_are_refused_when_written():
    for changes in ({"epochs": 0}, {"batch_size": 0}, {"eval_batch": -1}):
        with pytest.raises(ValueError, match="must be at least 1"):
            arm(**changes)
    with pytest.raises(ValueError, match="share a name"):
        experiment(arm(), arm())
    with pytest.raises(KeyError, match="no arm 'x'"):
        experiment().arm("x")


def test_experiments_are_data():
    """Neither torch nor anything of the book comes along, papers included."""
    code = (
        "import sys, grokbook.experiment;"
        "ours = {m for m in sys.modules if m.startswith('grokbook')};"
        "assert ours == {'grokbook', 'grokbook.experiment'}, ours;"
        "import grokbook.papers.prieto2025; assert 'torch' not in sys.modules"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


# What names mean ---------------------------------------------------------------------


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", papers.names())
def test_everything_that_the_papers_name_exists(name, scale):
    for one in papers.get(name, scale).arms:
        names.check(one)


@pytest.mark.parametrize("one", ARMS, ids=lambda one: one.name)
def test_everything_in_the_golden_arms_exists(one):
    names.check(one)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": Spec("lstm")}, "unknown model 'lstm': use one of"),
        (
            {"loss": Spec("mean_squared_error", power=3)},
            "unknown option of mean_squared_error 'power'",
        ),
        ({"dtype": "float31"}, "'float31' is no torch dtype"),
        ({"keep_dtype": "nan"}, "'nan' is no torch dtype"),
        ({"observables": ("mood",)}, "unknown observable 'mood'"),
        ({"rarely": (5, ("mood",))}, "unknown observable 'mood'"),
        (
            {"penalties": (Spec("radius", strength=1.0, site="mlp_out"),)},
            "unknown site of penalty 'radius' 'mlp_out'",
        ),
        ({"observables": ("core", "attention")}, "unknown place .* 'attention.0'"),
        (
            {"observables": ("core", "periodic"), "model": ENCODER},
            "unknown place .* 'hidden'",
        ),
        (
            {"observables": ("core", "ranks"), "model": Spec("vgg11", classes=11)},
            "unknown place .* 'layers'",
        ),
        *(
            (
                {"rarely": (30, ("exact_trace",))} | changes,
                "of a ReLU MLP without norms",
            )
            for changes in (
                {"alpha": 2.0},
                {"loss": Spec("stablemax_cross_entropy")},
                {"loss": Spec("softmax_cross_entropy", temperature=2.0)},
                {"later_loss": (5, Spec("mean_squared_error"))},
                {"model": Spec("mlp", **MLP.options | {"activation": "gelu"})},
                {"model": Spec("mlp", **MLP.options | {"embedding": 4})},
                {
                    "model": Spec(
                        "mlp", **MLP.options | {"norm": "rms", "affine": False}
                    )
                },
            )
        ),
        *(
            (
                {"rarely": (30, ("periodic",)), "dataset": Spec("modular", **options)},
                "all pairs of tokens below an odd p of at least 7, and not on modular",
            )
            for options in (
                {"p": 12},
                {"p": 5},
                {"p": 11, "equals": True},
                {"p": 11, "encoding": "one_hot"},
                {"p": 11, "operation": "divide"},
                {"p": 11, "smallest": 1},
            )
        ),
        (
            {"rarely": (30, ("periodic",)), "dataset": Spec("sparse_parity")},
            "and not on sparse_parity",
        ),
        (
            {
                "observables": ("core", "adam_curvature"),
                "optimizer": Spec("sgd", lr=1.0),
            },
            "needs the second moments of AdamW, which sgd does not keep",
        ),
        (
            {"observables": ("core", "logits"), "eval_batch": 4},
            "needs all rows at once",
        ),
        ({"observables": ("norms",)}, "lack 'core'"),
        ({"loss": Spec("softmax_cross_entropy", reduction="sum")}, "not an arm's"),
        ({"model": Spec("mlp", classes=11, vocabulary=11, widths=(-3,))}, "negative"),
        ({"log": 0}, "looked at every 0 epochs"),
        ({"rarely": (0, ("norms",))}, "looked at every 0 epochs"),
        ({"keep": (0, 31)}, "epoch 31 is not among its 30"),
        ({"later_loss": (40, Spec("softmax_cross_entropy"))}, "epoch 40 is not among"),
        ({"stop": 95.0}, "stop is a test accuracy between 0 and 1, not 95.0"),
        ({"optimizer": Spec("adamw", lr=-1.0)}, r"lr is -1.0, but it must lie in"),
        ({"optimizer": Spec("adamw", lr="fast")}, "str"),
        ({"model": Spec("mlp", classes=11)}, "vocabulary"),
        ({"wrappers": (Spec("orthogonal", scope="row"),)}, "unknown scope 'row'"),
        ({"wrappers": (Spec("centre_rows", names=("head",)),)}, "layers.0.weight"),
        ({"penalties": (Spec("radius", strength=1.0, target=-1.0),)}, "target is -1.0"),
        ({"penalties": (Spec("l2"),)}, "strength"),
        ({"schedule": Spec("warmup", over=0)}, "over"),
        ({"loss": Spec("softmax_cross_entropy", smoothing=2.0)}, "smoothing is 2.0"),
    ],
)
def test_names_that_do_not_exist_are_refused(changes, message):
    with pytest.raises(ValueError, match=f"^arm 'plain': .*{message}"):
        names.check(arm(**changes))


def test_looks_at_layers_that_are_there():
    """Transformers have no taps after the activation and some before it."""
    names.check(arm(observables=("core", "ranks"), model=ENCODER))
    every = ("core", "ranks", "periodic", "exact_trace", "probes", "radial")
    names.check(arm(observables=every))
    names.check(arm(observables=("core", "exact_match"), eval_batch=4))
    changed = Spec("exact_cross_entropy", dtype="float64")
    names.check(arm(observables=every, later_loss=(5, changed)))


def test_options_are_resolved():
    found = names.options(Spec("softmax_cross_entropy", dtype="float64", smoothing=0.2))
    assert found == {"dtype": torch.float64, "smoothing": 0.2}
