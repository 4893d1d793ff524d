"""Losses and the pull in a loop of one's own, against what torch.nn makes of it."""

import copy
import io
import pickle
from itertools import product

import pytest
import torch
import torch.nn.functional as F
from helpers import random
from test_losses import log_transform
from torch import nn
from torch.optim.swa_utils import AveragedModel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from grokbook import losses, penalties
from grokbook.anywhere import CollapseFreeLoss, Pull, StableMaxLoss
from grokbook.penalties import Forward

# Each loss, and what turns logits into those of a softmax with the same probabilities.
MODULES = {StableMaxLoss: log_transform, CollapseFreeLoss: lambda logits: logits}
# Logits in torch's layout: one row, rows, positions, as many of these as classes.
LAYOUTS = [(5,), (7, 5), (4, 4, 4), (2, 5, 3), (2, 6, 6, 6)]
IGNORED = {"none": slice(0), "some": slice(None, None, 3), "all": slice(None)}


class WithoutFloat64(TorchDispatchMode):
    """A device on which no operation may make a float64 tensor."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        made = [x.dtype for x in tree_leaves(result) if isinstance(x, torch.Tensor)]
        assert torch.float64 not in made, function
        return result


def batch(layout, ignored, dtype):
    """Logits in float64, labels of a dtype, and the label that is ignored."""
    classes = layout[0] if len(layout) == 1 else layout[1]
    generator = torch.Generator().manual_seed(1)
    labels = torch.randint(classes, layout[:1] + layout[2:], generator=generator)
    labels = labels[0] if len(layout) == 1 else labels
    label = 1 if dtype == torch.uint8 else -100
    labels.view(-1)[IGNORED[ignored]] = label
    return 3 * random(*layout).double(), labels.to(dtype), label


def with_gradient(loss, logits, labels):
    """The loss, and the gradient of its sum, in float64."""
    logits = logits.clone().requires_grad_()
    value = loss(logits, labels)
    value.sum().backward()
    return [value.detach().double(), logits.grad.double()]


@pytest.mark.parametrize("reduction", losses.REDUCTIONS)
@pytest.mark.parametrize("ignored", IGNORED)
@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.int32])
def test_the_modules_are_torchs_cross_entropy(reduction, ignored, dtype, monkeypatch):
    """In value, shape and gradient, StableMax by Proposition 1.

    Also where there is no float64, which is said once.
    """
    close = torch.testing.assert_close
    for module, layout in product(MODULES, LAYOUTS):
        logits, labels, label = batch(layout, ignored, dtype)
        classes = layout[0] if len(layout) == 1 else layout[1]
        weight = 0.5 + torch.arange(classes)
        for options in ({}, {"label_smoothing": 0.2, "weight": weight}):
            how = {"reduction": reduction, "ignore_index": label}
            torchs = options | {"weight": weight.double()} if options else {}

            def reference(logits, labels, module=module, how=torchs | how):
                return F.cross_entropy(MODULES[module](logits), labels.long(), **how)

            expected = with_gradient(reference, logits, labels)
            ours = module(**how, **options, dtype=torch.float64)
            found = with_gradient(ours, logits, labels)
            close(found, expected, rtol=1e-11, atol=1e-13, equal_nan=True)
            with monkeypatch.context() as patch:
                patch.setattr(losses, "NO_FLOAT64", ("cpu",))
                logits32 = logits.float()
                with pytest.warns(UserWarning, match="cpu has no float64") as said:
                    for _ in range(2):
                        with WithoutFloat64():
                            value = ours(logits32, labels)
            assert len(said) == 1 and value.dtype == ours.dtype == torch.float32
            close(value.double(), found[0], rtol=1e-4, atol=1e-6, equal_nan=True)


def test_a_module_without_options_is_the_function():
    logits, labels, _ = batch((7, 5), "none", torch.int64)
    for module, function in (
        (StableMaxLoss, losses.stablemax_cross_entropy),
        (CollapseFreeLoss, losses.exact_cross_entropy),
    ):
        for reduction in losses.REDUCTIONS:
            found = module(reduction=reduction)(logits, labels)
            assert torch.equal(found, function(logits, labels, reduction=reduction))


def test_what_is_ignored_may_hold_anything_and_vmap_takes_it():
    logits, labels = random(6, 5), torch.tensor([0, 1, -100, 3, -100, 2])
    kept = labels >= 0
    padded = logits.masked_fill(~kept[:, None], float("nan"))
    for loss in (StableMaxLoss(), CollapseFreeLoss()):
        plain, found = (with_gradient(loss, z, labels) for z in (logits, padded))
        torch.testing.assert_close(found, plain, rtol=0, atol=0)
        assert (found[1][~kept] == 0).all()
        two, many = torch.stack([logits, -logits]), labels.expand(2, 6)
        alone = torch.stack([loss(z, labels) for z in two])
        torch.testing.assert_close(torch.vmap(loss)(two, many), alone)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own
def test_a_module_compiles_as_a_whole():
    logits, labels = random(6, 5), torch.tensor([0, 1, -100, 3, -100, 2])
    loss = StableMaxLoss()
    compiled = torch.compile(loss, fullgraph=True, backend="eager")
    assert torch.equal(compiled(logits, labels), loss(logits, labels))


WRONG = [  # options at construction, and the sentence
    ({"reduction": "avg"}, "unknown reduction 'avg': use one of mean, sum, none"),
    ({"label_smoothing": 1.5}, r"label_smoothing is in \[0, 1\], not 1.5"),
    ({"weight": "mean"}, r"weight is a tensor \(classes,\) or None, not 'mean'"),
    ({"weight": torch.ones(2, 2)}, r"weight is a tensor \(classes,\) or None"),
    ({"dtype": torch.int64}, "the dtype of a loss is a floating one, not torch.int64"),
]


def test_wrong_options_and_what_does_not_fit_are_refused_in_a_sentence():
    logits, labels = random(2, 5, 3), torch.zeros(2, 3, dtype=torch.int64)
    for module in MODULES:
        for options, sentence in WRONG:
            with pytest.raises(ValueError, match=sentence):
                module(**options)
        with pytest.raises(TypeError, match="unexpected keyword argument 'avg'"):
            module(avg=True)
        for given in (labels[:, :2], labels.T, labels.flatten()):
            with pytest.raises(ValueError, match="take logits .N, classes, d1, ..."):
                module()(logits, given)
        with pytest.raises(ValueError, match="numbers of classes, not torch.float32"):
            module()(logits, torch.ones(2, 5, 3))
        with pytest.raises(ValueError, match="4 weights do not fit logits"):
            module(torch.ones(4))(logits, labels)
        shown = repr(module(ignore_index=7, reduction="sum", label_smoothing=0.1))
        assert shown == (
            f"{module.__name__}(weight=None, ignore_index=7, reduction=sum, "
            f"label_smoothing=0.1, dtype={module().dtype})"
        )


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 6), nn.ReLU())


def charge(net, x, name):
    """The penalty of a network's two linear layers, and its gradients."""
    net = copy.deepcopy(net).requires_grad_()
    taps = {"pre.0": net[0](x), "pre.1": net[2](net[:2](x))}
    value = getattr(penalties, name)(Forward(x, x, {}, taps), strength=5.0)
    return [value, *torch.autograd.grad(value, [*net.parameters()])]


@pytest.mark.parametrize(("name", "target"), [("activations", 0.0), ("radius", 6**0.5)])
def test_a_pull_charges_a_pass_once_whatever_happens_before(name, target, tmp_path):
    """A validation, a copy's pass, a saved model; a pass is not charged again."""
    net, x = network(), random(7, 4)
    pull = Pull(net[0], net[2], strength=5.0, target=target)
    average = AveragedModel(net)
    for step in range(2):
        net(x + step)
        with torch.no_grad():
            net(-x)
            assert pull() == 0
        for copied in (average, copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
            copied(-x)
        torch.save(net, buffer := io.BytesIO())
        buffer.seek(0)
        torch.load(buffer, weights_only=False)(-x)
        average.update_parameters(net)
        value = pull()
        found = [value, *torch.autograd.grad(value, [*net.parameters()])]
        torch.testing.assert_close(found, charge(net, x + step, name))
        with pytest.raises(RuntimeError, match="call pull.. once after each pass"):
            pull()
    net(x)
    net(-x)  # as of two views of the same images
    both = charge(net, x, name)[0] + charge(net, -x, name)[0]
    torch.testing.assert_close(pull(), both)
    net(x)
    for copied in (copy.deepcopy(pull), pickle.loads(pickle.dumps(pull))):
        with pytest.raises(RuntimeError, match="not of copies"):
            copied()
    pull()


def test_a_pull_says_what_it_cannot_take_and_takes_half_precision():
    attention = nn.MultiheadAttention(4, 2)
    Pull(attention, strength=1.0)
    x = random(3, 2, 4)
    with pytest.raises(TypeError, match="MultiheadAttention returns a tuple: give it"):
        attention(x, x, x)
    layer = nn.Linear(4, 4).half()
    pull = Pull(layer, strength=1.0)
    h = layer(torch.full((2, 4), 3e4).half())
    assert 0 < float(h.detach().abs().max()) < 65504
    expected = h.detach().double().square().mean()
    assert float(pull().detach()) == pytest.approx(float(expected), rel=1e-3)
