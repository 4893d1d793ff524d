"""Settings that no training can have are refused in one sentence, before it starts."""

import math

import pytest
import torch
from helpers import MLP, arm

from claimbook import change, evidence, names, papers
from claimbook.change import Change
from claimbook.engine import build, pool
from claimbook.engine.learner import Learner
from claimbook.errors import BookError
from claimbook.experiment import Spec
from grokbook import losses, metrics, models
from grokbook.anywhere import CollapseFreeLoss, Pull, StableMaxLoss
from grokbook.models.transformer import Layout
from grokbook.optimizers import clip, clip_rows, grokfast, hold_norm
from grokbook.optimizers.rules import StackedSGD

SOFTMAX = "softmax_cross_entropy"
SGD, MUON = Spec("sgd", lr=0.1), Spec("muon", lr=0.1)
# What is given, and a part of the sentence that has to come.
NUMBERS = [
    ({"epochs": -1}, "epochs is -1: give a whole number from 0 on"),
    ({"epochs": 10**17}, "epochs is 100000000000000000: give at most 1,000,000,000"),
    ({"epochs": 10**9}, "log is 1: give intervals for 1,000,000 rows"),
    ({"epochs": "30"}, "epochs is '30': give a whole number"),
    ({"batch_size": 0}, "batch_size is 0: give a whole number from 1 on"),
    ({"batch_size": 2.0}, "batch_size is 2.0"),
    ({"eval_batch": 0}, "eval_batch is 0"),
    ({"after_stop": -1}, "after_stop is -1"),
    ({"log": 0}, "an interval of log is 0"),
    ({"log": 5.0}, "an interval of log is 5.0"),
    ({"log": ((10, 1), (30, -5))}, "an interval of log is -5"),
    ({"rarely": (0, ("norms",))}, "the interval of rarely is 0"),
    ({"keep": (-1,)}, "an epoch of keep is -1"),
    ({"later_loss": (-1, Spec(SOFTMAX))}, "the epoch of later_loss is -1"),
    ({"alpha": float("nan")}, "alpha is nan: give a finite number"),
    ({"init_scale": float("inf")}, "init_scale is inf"),
    ({"stop": 99.0}, "stop is 99.0: give an accuracy, from above 0 to 1"),
    ({"stop": 0.0}, "stop is 0.0"),
    ({"epochs": 10**9, "log": ((10**6, 1), (10**9, 999 * 10**6))}, "log is .* 1,000,0"),
]
NAMES = [
    ({"dtype": "flaot32"}, "unknown dtype 'flaot32': use one of float32"),
    ({"dtype": "int64"}, "unknown dtype 'int64'"),
    ({"keep": (1,), "keep_dtype": "flaot16"}, "unknown dtype 'flaot16'"),
    ({"autocast": "float32"}, "'float32': use one of float16"),
    ({"loss": Spec(SOFTMAX, dtype="flaot32")}, "unknown dtype 'flaot32'"),
    ({"dataset": Spec("modular", fraction=0.4)}, "'fraction': use one of train_frac"),
    ({"dataset": Spec("cifar100", batchs=3)}, "'cifar100' of an arm: .*'batchs'"),
    ({"model": Spec("mlp", classes=11, width=(4,))}, "'width': use one of widths"),
    ({"model": Spec("mlp", vocabulary=11)}, "'mlp' of an arm: .*missing.*'classes'"),
    ({"loss": Spec(SOFTMAX, smoothng=0.1)}, "'smoothng': use one of smoothing"),
    ({"loss": Spec("repaired_cross_entropy", smoothng=0.1)}, "of an arm: .*'smoothng'"),
    ({"later_loss": (3, Spec(SOFTMAX, smoothng=0.1))}, "'smoothng': use one of"),
    (
        {"optimizer": Spec("adamw", learning_rate=0.1)},
        "'adamw' of an arm: .*'learning_",
    ),
    (
        {"optimizer": Spec("adamw", lr=5000.0, weight_decay=0.1)},
        "of an arm: lr . weight_decay is above 2",
    ),
    ({"optimizer": Spec("adamw", lr=-1.0)}, "'adamw' of an arm: Invalid learning rate"),
    ({"wrappers": (Spec("grokfast", lam=2),)}, "'lam': use one of lamb, alpha$"),
    ({"wrappers": (Spec("clip", norm=-1.0),)}, "'clip' of an arm: norm is a number ab"),
    ({"penalties": (Spec("l2", strenght=0.1),)}, "'strenght': use one of strength"),
    ({"schedule": Spec("warmup", steps=3)}, "'steps': use one of over$"),
    ({"schedule": Spec("warmup")}, "'warmup' of an arm: .*missing.*'over'"),
    ({"augment": Spec("crop_flip", sise=8)}, "'sise': use one of size"),
    ({"observables": ("core", "hessian")}, "unknown observable 'hessian'"),
    ({"rarely": (10, ("hessian",))}, "unknown observable 'hessian'"),
    ({"observables": ("core", "attention")}, "reads attention.0 of a network, but"),
    ({"observables": ("norms",)}, "has to measure train_loss at every log: add core"),
]
FITTING = [
    (
        {"dataset": Spec("helpers:without_training_rows")},
        "which has no training rows: give it one at least",
    ),
    ({"dataset": Spec("modular", p=13)}, "tokens up to 12: give vocabulary=13"),
    (
        {"model": Spec("mlp", **MLP.options | {"classes": 7})},
        "arm 'plain': network .*has labels up to 10: give classes=11",
    ),
    (
        {"model": Spec("mlp", **MLP.options | {"vocabulary": 0, "features": 9})},
        r"with .*features=9 cannot take rows of shape \(2,\) ",
    ),
]
MEASURED = [
    ("fourier", {}, "unknown parameter of the network 'embedding'"),
    ("scale_free", {}, "scale_free measures transformers, not MLP: leave it out"),
    (
        "adam_curvature",
        {"optimizer": SGD},
        "the moments of 'sgd', which has no 'betas'",
    ),
]


EDGES = {"epochs": 10**9, "log": ((10**6, 1), (10**9, 10**9)), "after_stop": 0}
EDGES |= {"batch_size": 1, "eval_batch": 1, "rarely": (1, ("norms",)), "keep": (0,)}
EDGES |= {"later_loss": (0, Spec(SOFTMAX)), "stop": 1.0}


def test_the_least_and_the_largest_numbers_are_taken():
    assert arm(epochs=0).epochs == 0 and arm(**EDGES).stop == 1


@pytest.mark.parametrize(("settings", "sentence"), NUMBERS)
def test_numbers_are_refused_where_an_arm_is_written(settings, sentence):
    with pytest.raises(BookError, match=f"arm 'plain': {sentence}") as error:
        arm(**settings)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("settings", "sentence"), [*NAMES, *FITTING])
def test_what_does_not_exist_or_fit_is_refused_before_a_step(settings, sentence):
    with pytest.raises(BookError, match=sentence) as error:
        Learner([(arm(**settings), 0)])
    assert "\n" not in str(error.value)


def test_a_stop_needs_the_accuracy_at_every_log(monkeypatch):
    known = names.observables()
    mine = known["core"]._replace(makes=frozenset({"train_loss"}))
    monkeypatch.setitem(known, "mine", mine)
    build.check(arm(observables=("mine",)))
    with pytest.raises(BookError, match="measure test_accuracy at every log: add core"):
        build.check(arm(observables=("mine",), stop=0.5))


def test_every_member_of_a_stack_is_looked_at():
    members = [(arm("a"), 0), (arm("b", loss=Spec(SOFTMAX, dtype="flaot32")), 0)]
    with pytest.raises(BookError, match="unknown dtype 'flaot32'"):
        Learner(members, stacked=True)


@pytest.mark.parametrize(("name", "settings", "sentence"), MEASURED)
def test_what_a_network_does_not_have_cannot_be_measured(name, settings, sentence):
    one = Learner([(arm(observables=("core", name), **settings), 0)])
    one.step()
    with pytest.raises(BookError, match=sentence):
        one.observe([name], one.weights())


def test_a_penalty_names_a_site_that_the_network_has():
    charged = Spec("radius", strength=0.1, site="hiden")
    one = Learner([(arm(model=MLP, penalties=(charged,)), 0)])
    with pytest.raises(BookError, match="unknown site 'hiden': use one of hidden"):
        one.step()


LOGITS, LABELS = torch.eye(4), torch.arange(4)
ROWS, COLUMN = torch.ones(20, 6), torch.ones(20, 1)
SENT_IN = [  # by a stranger; each had a plausible number for an answer
    (lambda: metrics.accuracy(LOGITS, LABELS[:, None]), r"labels \(4, 1\) do not fit"),
    (lambda: metrics.accuracy(LOGITS, LABELS > 1), "numbers of classes, not torch.boo"),
    (lambda: metrics.top_accuracy(LOGITS, LABELS, k=0), "from 1 on, not 0"),
    (lambda: metrics.cosine(ROWS, ROWS.T), r"one shape .* not \(20, 6\) and \(6, 20\)"),
    (lambda: metrics.update_norm({"w": ROWS}, {"w": COLUMN}), "of one shape"),
    (lambda: metrics.radial_energy(ROWS, COLUMN), "of one shape are compared"),
    (lambda: metrics.fourier_concentration(ROWS, p=59), "20 tokens has no 59 numbers"),
    (lambda: metrics.attention_entropy(ROWS), r"queries, keys\), not \(20, 6\)"),
    (
        lambda: metrics.neural_collapse(ROWS, COLUMN, LOGITS),
        "numbers of classes, not torch.float32",
    ),
    (
        lambda: losses.softmax_cross_entropy(LOGITS, LABELS, smoothing=-1.0),
        r"smoothing is in \[0, 1\], not -1.0",
    ),
    (lambda: metrics.waves(ROWS, torch.cartesian_prod(LABELS, LABELS), p=4), "of 4"),
    (lambda: metrics.waves(ROWS, torch.ones(9, 2).long(), p=3), "of all pairs .*of 3"),
    (lambda: metrics.waves(ROWS, torch.zeros(1, 2).long(), p=1), "an odd p, not of 1"),
    (lambda: models.MLP(5), r"either vocabulary= \(tokens\) or features="),
    (lambda: models.MLP(5, vocabulary=3, features=3), "either vocabulary= .* or feat"),
    (lambda: models.MLP(5, features=3, embedding=2), "embedding= .* takes vocabulary="),
    (lambda: StableMaxLoss(ignore_index=1.5), "ignore_index is a whole number"),
    (lambda: StableMaxLoss(dtype="float32"), "a floating one, not 'float32'"),
    (lambda: StableMaxLoss(label_smoothing="a"), r"label_smoothing is in \[0, 1\]"),
    (lambda: StableMaxLoss()(LOGITS.int(), LABELS), "not torch.int32"),
    (lambda: Pull(strength=0.1), "a Pull needs modules"),
    (lambda: Pull(torch.nn.ReLU(), strength=-1.0), "a strength from 0 on"),
    (lambda: clip(optimizer(), norm=math.nan), "norm is a number above 0, not nan"),
    (lambda: hold_norm(optimizer(), names=(), norm=0), "norm is a number above 0"),
    (lambda: clip_rows(optimizer(), names=(), norm=[2]), r"a number above 0, not \[2"),
    (lambda: grokfast(optimizer(), alpha=2.0), r"alpha is in \[0, 1\), not 2.0"),
    (lambda: clip(torch.nn.ReLU(), norm=1), "clip needs an optimizer .* not ReLU"),
    (lambda: clip(torch.optim.SGD, norm=1), "clip needs an optimizer .* not SGD"),
    (lambda: hold_norm(named(), names=["b"], norm=1), r"'b' is not a matrix: \(2,\)"),
    (lambda: hold_norm(stack(), names=["b"], norm=1), r"'b' is not a matrix: \(3, 2\)"),
    (lambda: hold_norm(named(), names=["w"], norm=1), r"a matrix: \(2, 2, 3, 3\)"),
    (lambda: hold_norm(named(), names="w", norm=1), r"names is a list .* \['w'\]"),
    (lambda: StackedSGD([ROWS], lr=0.1, nesterov=True), "stack 'nesterov': use one of"),
    (lambda: Layout(vocabulary=2, norms="mlp"), r"norms is a list .* \['mlp'\]"),
    (lambda: Layout(vocabulary=2, dropout_at="hidden"), "dropout_at is a list"),
    (lambda: Layout(vocabulary=2, dropout_at=["mlp"]), "unknown site of dropout 'mlp'"),
    (lambda: Layout(vocabulary=2, read="first"), "value of read 'first': use one of"),
    (lambda: Layout(vocabulary=2, read=0), "value of read 0: use one of last, all"),
    (lambda: Layout(vocabulary=2, gated=True, hidden=(8, 4)), "are of one width"),
    (lambda: Layout(vocabulary=2, hidden=()), r"hidden=\(\): give at least one hidden"),
    (lambda: Layout(vocabulary=2, heads=3), "width=128 .* not a multiple of heads=3"),
    (lambda: arm(observables="core"), r"observables is a list .* \['core'\]"),
    (lambda: arm(rarely=(10, "core")), "rarely is a list"),
    (lambda: Learner([(arm(optimizer=MUON), 0)], "meta"), "muon trains on a CPU alone"),
    (lambda: names.code_digest("builtins"), "builtins is not a module with a file of"),
    (lambda: pool.tasks([], arms="lr*"), "arms is a list"),
    (lambda: Change({}, arms="lr*"), "arms is a list"),
    (lambda: change.read("epochs=9", arms="lr*"), "arms is a list"),
    (lambda: papers.best("prieto2025/fig02", arms="plain"), "arms is a list"),
    (lambda: evidence.record("prieto2025/fig02", arms="plain"), "arms is a list"),
    (lambda: evidence.record("prieto2025/fig02", device="mps"), "unknown device 'mps'"),
    (
        lambda: arm(dataset=Spec("modular", operation=torch.add)).training_key,
        "<built-in .*, which no record can hold: .* 'my_module:my_task'$",
    ),
]


def optimizer():
    return torch.optim.SGD([torch.nn.Parameter(torch.ones(2, 2))], lr=0.1)


def named():
    """An optimizer of a convolution's kernel "w" and a vector "b"."""
    tensors = {"w": torch.ones(2, 2, 3, 3), "b": torch.ones(2)}
    return torch.optim.SGD(
        [(name, torch.nn.Parameter(tensor)) for name, tensor in tensors.items()]
    )


def stack():
    """A rule for three networks with a vector "b"."""
    vectors = torch.nn.Parameter(torch.ones(3, 2))
    return StackedSGD([("b", vectors)], lr=0.1)


@pytest.mark.parametrize(("call", "said"), SENT_IN)
def test_what_does_not_fit_has_no_number(call, said):
    with pytest.raises((ValueError, TypeError, BookError), match=said):
        call()


def test_what_is_not_there_is_nan():
    empty = metrics.radial_energy(ROWS[:0], ROWS[:0])
    assert all(value.isnan() for value in empty.values())
    infinite = torch.tensor([[torch.inf, 0.0, 1.0], [-torch.inf, 0.0, 1.0]])
    found = CollapseFreeLoss(reduction="none")(infinite, torch.tensor([0, 2]))
    assert found[0].isnan()
    assert found[1].item() == pytest.approx(math.log(1 + math.e) - 1)
