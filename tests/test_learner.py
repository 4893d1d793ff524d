"""What a step and a look must be so that a GPU can replay them, and what they show."""

import contextlib
import json
import runpy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from helpers import arm
from test_loop import ARMS, STACKED
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from claimbook import names
from claimbook.engine import build, device
from claimbook.engine.learner import Learner, weighted
from claimbook.experiment import Spec
from claimbook.protocol import Data, switched
from grokbook import losses, optimizers

pytestmark = pytest.mark.usefixtures("tiny_data")
HOLD = Spec("hold_norm", names=("layers.1.weight",), norm=0.3)
GLOBAL = Spec("orthogonal", scope="global", rescale=False)
STEPS = STACKED | {"autocast": {"autocast": "bfloat16"}}
STEPS |= {"held": {"wrappers": (HOLD, GLOBAL, Spec("grokfast"))}}
STEPS |= {
    name: {"loss": Spec(name, **({"norm": 3.0} if "rescaled" in name else {}))}
    for name in vars(losses)
    if name.endswith(("_cross_entropy", "_error", "_zeroed", "_detached"))
}
# A capture refuses to wait for a number, or for one that the host has just made.
REFUSED = {"_local_scalar_dense", "item", "nonzero", "is_nonzero", "equal"}
REFUSED |= {"lift_fresh", "masked_select", "_unique2"}


class Tape(TorchDispatchMode):
    """Every operation with its numbers, as a CUDA graph would keep them."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        def plain(value):
            if isinstance(value, torch.Tensor):
                return ["tensor", list(value.shape), str(value.dtype)]
            if isinstance(value, list | tuple):
                return [plain(part) for part in value]
            return repr(value)

        if not str(function).startswith("profiler"):
            numbers = plain([*args, *(kwargs or {}).values()])
            self.calls.append((str(function), json.dumps(numbers)))
        return function(*args, **(kwargs or {}))


def test_two_steps_are_the_same_operations_and_wait_for_nothing(monkeypatch):
    """So a step, as on a GPU, can be captured once: it reads the same memory again."""
    monkeypatch.setattr(losses, "on_gpu", lambda _: True)
    for settings in STEPS.values():
        members = [(arm(**settings), seed) for seed in (0, 1)]
        one = Learner(members, stacked=True)
        _, phase = one.phase()
        tapes, places = [], set()
        for _ in range(3):  # the first makes what stays
            one.prepare_step()
            with Tape() as tape:
                one.run_step(phase)
            rates = [group["lr"] for group in one.optimizer.param_groups]
            places.add(tuple(t.data_ptr() for t in (*one.feed.batch, *rates)))
            one.step_count += 1
            tapes.append(tape.calls)
        assert tapes[1] == tapes[2] and len(tapes[1]) > 10
        assert not {name.split(".")[1] for name, _ in tapes[1]} & REFUSED
        assert not [at for name, at in tapes[1] if ".index" in name and "bool" in at]
        assert len(places) == 1


# What sorts on a GPU. With more tokens than this a network needs it, with less not.
SORTS = {"index_put", "index_add", "scatter_add", "embedding_dense_backward"}
SORTS |= {"sort", "topk", "median", "kthvalue", "_unique2", "bincount"}
LARGE_TABLE = 1024
CHECK = Path(__file__).parents[1] / "benchmarks" / "gpu" / "check.py"


def shallow(arm):
    """The same arm with two blocks where it has more, which are all alike."""
    depth = min(arm.model.options.get("depth", 1), 2)
    deep = {"depth": depth} if "depth" in arm.model.options else {}
    return replace(arm, model=Spec(arm.model.name, **arm.model.options | deep))


def without_numbers(arm, _seed):
    """Rows of zeros and a network of the paper's size that takes no memory."""
    with torch.device("meta"):
        model = names.resolve("model", arm.model)(**names.options(arm.model))
    positions = 2 if "vocabulary" in arm.model.options else 1
    sizes = {"positions": positions, "rows": 2, "read": "last"}
    sizes |= arm.dataset.options | arm.model.options
    rows, read = sizes["rows"], sizes["read"]
    if arm.model.name in ("vgg11", "resnet18", "vit"):
        side = arm.augment.options["size"] if arm.augment else 32
        x = torch.zeros(rows, 3, side, side)
    elif "features" in sizes:
        x = torch.zeros(rows, sizes["features"])
    else:
        positions = sizes.get("block", sizes["positions"])
        x = torch.zeros(rows, positions, dtype=torch.int64)
    y = torch.zeros(rows, dtype=torch.int64)
    if "block" in sizes or read == "all":
        y = x
    elif read != "last":
        y = x[:, -read:]
    return Data(x, y, x, y), model.to(getattr(torch, arm.dtype))


class Strict(TorchDispatchMode):
    """Refuses what a capture would, and what costs a GPU more than it need."""

    def __init__(self, may_sort):
        super().__init__()
        self.may_sort = may_sort

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        found = function(*args, **(kwargs or {}))
        name = str(function).split(".")[1]
        leaves = tree_leaves((args, kwargs, found))
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        on_host = [tensor for tensor in tensors if tensor.device.type == "cpu"]
        assert name not in REFUSED, function
        assert all(tensor.dim() == 0 for tensor in on_host), function
        # a launch takes these as arguments; other operations would copy them
        is_factor = name in ("mul", "div", "add", "sub", "_to_copy", "pow", "rsub")
        assert is_factor or not on_host, function
        assert self.may_sort or name not in SORTS, function
        return found


def test_a_step_at_the_papers_size_waits_for_nothing_and_sorts_nothing(monkeypatch):
    """On "meta", where a number that is asked for is an error."""
    monkeypatch.setattr(losses, "on_gpu", lambda _: True)
    monkeypatch.setattr(build, "start", without_numbers)
    monkeypatch.setattr(build, "check", lambda _: None)
    monkeypatch.setattr(build, "check_rows", lambda *_: None)  # asks for numbers
    monkeypatch.setattr(torch, "autocast", lambda *_, **__: contextlib.nullcontext())
    covering = runpy.run_path(str(CHECK))["covering"]
    chosen = [shallow(one) for one in covering() if one.optimizer.name != "muon"]
    assert len(chosen) > 40
    for one in chosen:
        seeds = (0,) if build.trains_alone(one) else (0, 1)
        learner = Learner([(one, k) for k in seeds], "meta", stacked=len(seeds) > 1)
        if one.wrappers:
            learner.step()  # makes what stays
        learner.prepare_step()
        layout = getattr(learner.model, "layout", None)
        with Strict(may_sort=layout and layout.vocabulary > LARGE_TABLE):
            learner.run_step(learner.phase()[1])


def test_a_step_that_cannot_be_captured_goes_on_and_says_why_once(monkeypatch):
    """But a stack that is too large shall be halved, and not run eagerly for good."""
    error = RuntimeError("operation not permitted when stream is capturing\nmore")

    def refuse():
        raise error

    monkeypatch.setattr(torch.cuda, "CUDAGraph", refuse)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    calls = []

    def warm():
        captured = device.Captured(lambda: calls.append(1), "cuda")
        for _ in range(device.WARM):
            captured()
        return captured

    captured = warm()
    with pytest.warns(UserWarning, match="run eagerly.*: operation not permitted when"):
        captured()
    captured()
    assert len(calls) == device.WARM + 2
    error.__context__ = torch.OutOfMemoryError("CUDA out of memory")
    for failed in (error, error.__context__):
        error = failed
        with pytest.raises(torch.OutOfMemoryError):
            warm()()


def test_a_captured_step_is_replayed_and_gives_the_tensors_of_its_capture(monkeypatch):
    replayed, calls = [], iter(range(99))
    graph = SimpleNamespace(replay=lambda: replayed.append(1))
    monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: graph)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: None)
    monkeypatch.setattr(torch.cuda, "graph", lambda *_, **__: contextlib.nullcontext())
    captured = device.Captured(lambda: next(calls), "cuda")
    found = [captured() for _ in range(device.WARM + 3)]
    last = device.WARM
    assert (found, len(replayed)) == ([*range(last), last, last, last], 3)
    here = device.Captured(lambda: next(calls), "cpu")
    assert [here() for _ in range(last + 2)] == [*range(last + 1, 2 * last + 3)]


def test_everything_is_what_it_says():
    settings = {"dataset": Spec("modular", p=11, train_fraction=0.3), "alpha": 0.5}
    settings["later_loss"] = (2, Spec("mean_squared_error"))
    one = Learner([(arm(**settings), 0)])
    first = {n: p.detach().clone() for n, p in one.params.items()}
    one.step()
    assert one.phase()[0] == 0
    before = one.weights()
    one.step()
    assert one.phase()[0] == 2
    seen = one.snapshot({"train", "test", "step"}, before)
    x, y = one.feed.train
    assert (len(y), len(one.feed.test[1])) == (36, 85)
    logits = 0.5 * torch.func.functional_call(one.model, dict(one.params), (x,))
    torch.testing.assert_close(seen.train.logits, logits.detach())
    assert torch.equal(seen.train.labels, y)
    assert torch.equal(seen.test.labels, one.feed.test[1])
    wanted = losses.mean_squared_error(logits, y, reduction="none")
    torch.testing.assert_close(seen.train.losses, wanted.detach())
    for name, weight in one.params.items():
        assert torch.equal(seen.params[name], weight)
        assert torch.equal(seen.before[name], before[name])
        assert not torch.equal(first[name], before[name])
        assert torch.equal(seen.grads[name], weight.grad)


def test_the_curvature_of_a_loss_without_a_dtype_is_measured(monkeypatch):
    """As one of a reader's own, of which only ``reduction`` is asked."""

    def plain(logits, labels, *, reduction="mean"):
        return F.cross_entropy(logits, labels, reduction=reduction)

    plain.__module__ = losses.__name__  # others are not taken
    values = []
    for function in (plain, losses.softmax_cross_entropy):
        monkeypatch.setattr(losses, "softmax_cross_entropy", function)
        settings = {"dataset": Spec("modular", p=5, train_fraction=0.8)}
        settings |= {"model": Spec("mlp", classes=5, vocabulary=5, widths=(3,))}
        one = Learner([(arm(**settings, loss=Spec("softmax_cross_entropy")), 0)])
        values.append(float(one.observe(["sharpness"])["sharpness"]))
    assert values[0] == pytest.approx(values[1])


def test_curvature_is_that_of_the_exact_hessian():
    """By the objective in float64 with penalty and BatchNorm, against torch.func."""
    settings = {"dataset": Spec("modular", p=5, train_fraction=0.8)}
    small = Spec("mlp", classes=5, vocabulary=5, widths=(3,), norm="batch")
    settings |= {"model": small, "penalties": (Spec("l2", strength=0.3),)}
    one = Learner([(arm(**settings), 0)])
    for _ in range(5):
        one.step()
    weights, function = one.objective()
    sizes = [w.numel() for w in weights.values()]

    def flat(vector):
        parts = zip(weights, vector.split(sizes), strict=True)
        return function({n: p.view_as(weights[n]) for n, p in parts})

    vector = torch.cat([w.flatten() for w in weights.values()])
    hessian = torch.autograd.functional.hessian(flat, vector)
    found = one.observe(["sharpness", "curvature", "adam_curvature"], one.weights())
    spread = torch.cat(
        [s.flatten() for s in optimizers.adam_divisors(one.optimizer)]
    ).double()
    scaled = hessian / spread.sqrt() / spread.sqrt()[:, None]
    for name, matrix in (("sharpness", hessian), ("preconditioned_sharpness", scaled)):
        largest = float(torch.linalg.eigvalsh(matrix)[-1])
        assert float(found[name]) == pytest.approx(largest, rel=1e-3)
    beside = (hessian - hessian.diag().diag()).square().sum()
    deviation = float((2 * beside / 20).sqrt())  # of a mean of 20 probes
    trace = float(hessian.trace())
    assert float(found["hessian_trace"]) == pytest.approx(trace, abs=4 * deviation)


TINY = Spec("mlp", classes=7, vocabulary=7, widths=(5, 4))
TINY_SUMS = Spec("modular", p=7, train_fraction=0.6)


@pytest.mark.parametrize("changes", [{"bias": False, "widths": (5,)}, {"dropout": 0.3}])
def test_exact_trace_of_a_network_is_that_of_its_hessian(changes):
    settings = {"dataset": TINY_SUMS, "dtype": "float64"}
    settings["model"] = Spec("mlp", **TINY.options | changes)
    settings["penalties"] = (Spec("radius", strength=0.5),)
    one = Learner([(arm(**settings), 0)])
    for _ in range(20):
        one.step()
    found = one.observe(["exact_trace"])
    network, weights = one.model.eval(), list(one.params.values())
    vector = torch.nn.utils.parameters_to_vector(weights).detach()
    sizes = [w.numel() for w in weights]
    for split, (x, y) in (("train", one.feed.train), ("test", one.feed.test)):

        def loss(vector, x=x, y=y):
            parts = zip(one.params, vector.split(sizes), strict=True)
            params = {n: p.view_as(one.params[n]) for n, p in parts}
            with switched(shortcuts=False):
                logits = torch.func.functional_call(network, params, (x,))
            return F.cross_entropy(logits, y, reduction="none")

        mean = lambda v, loss=loss: loss(v).mean()  # noqa: E731
        trace = float(torch.autograd.functional.hessian(mean, vector).trace())
        assert float(found[f"{split}_trace"]) == pytest.approx(trace, rel=1e-9)
        slopes = torch.autograd.functional.jacobian(loss, vector)
        fisher = float(slopes.square().sum(1).mean())
        assert float(found[f"{split}_fisher_trace"]) == pytest.approx(fisher, rel=1e-9)


def test_radial_energy_of_a_penalty_alone():
    """Where the loss says nothing the gradient is the penalty's, along h everywhere."""
    settings = {"model": TINY, "dataset": TINY_SUMS, "alpha": 0.0}
    settings |= {"penalties": (Spec("radius", strength=0.5),), "dtype": "float64"}
    one = Learner([(arm(**settings), 0)])
    found = one.observe(["radial"])
    for reading in ("mean", "summed", "masked"):
        assert float(found[f"radial_total_{reading}.pre.1"]) == pytest.approx(4)
        assert found[f"radial_loss_{reading}.pre.1"] == 0
    x, _ = one.feed.train
    weights = {n: p.detach() for n, p in one.params.items()}
    hidden = F.one_hot(x, 7).flatten(1).double()
    for k in (0, 1):
        w, b = (weights[f"layers.{k}.{part}"] for part in ("weight", "bias"))
        pre = hidden @ w.reshape(len(w), -1).T + b
        mean = float(pre.norm(dim=1).mean())
        assert float(found[f"radius.pre.{k}"]) == pytest.approx(mean)
        hidden = pre.relu()


def test_a_penalty_that_reads_no_activation_leaves_a_network_its_shortcuts():
    for penalty, is_tapped in (("l2", False), ("radius", True)):
        charged = arm(penalties=(Spec(penalty, strength=0.5),))
        assert Learner([(charged, 0)]).is_tapped == is_tapped


def test_the_objective_is_the_loss_of_the_step():
    """Batch statistics, penalties and phases included; in float64, so to rounding."""
    for name in ("BatchNorm", "penalties", "on activations", "scaled"):
        one = Learner([(arm(**ARMS[name]), 0)])
        one.step()
        weights, function = one.objective()
        assert float(function(weights)) == pytest.approx(float(one.step()), rel=1e-5)


def test_singhs_scale_free_loss():
    """SR-train: rows of unit length into the MLP, with and without the other norms."""
    sizes = {"classes": 11, "vocabulary": 11, "width": 8, "hidden": (16,)}
    network = Spec("transformer", **sizes, norms=("query_key", "value", "mlp"))
    one = Learner([(arm(model=network), 0)])
    one.step()
    values = one.observe(["scale_free", "core"])
    assert len({float(v) for v in values.values()}) == len(values)
    with torch.no_grad():  # a network whose MLP takes any length the same way
        for name, weight in one.params.items():
            if "mlp" in name:
                weight.zero_()
    values = one.observe(["scale_free", "core"])
    kept = float(values["sr_train_norms_kept"])
    assert kept == pytest.approx(float(values["train_loss"]), rel=1e-6)
    assert kept != pytest.approx(float(values["sr_train"]), rel=1e-6)


def language(**changes):
    """A toy of Liu et al.'s language model: the next token of modular rows."""
    sizes = {"vocabulary": 256, "depth": 2, "width": 8, "heads": 2, "hidden": 12}
    settings = {"dataset": Spec("wikitext", block=8, vocabulary=256)}
    settings |= {"model": Spec("decoder", **sizes), "autocast": "bfloat16"}
    return arm(**settings | {"batch_size": 4} | changes)


@pytest.mark.parametrize("onednn", [False, True])
def test_autocast_rounds_logits_and_keeps_weights(onednn):
    """bfloat16 products beside float32 weights [Liu, Table 4], whatever multiplies."""
    with switched(onednn=onednn):
        one = Learner([(language(), 0)])
        one.step()
        x, y = one.feed.batch
        seen = one.forward(one.params, one.buffers, x, y, 1.0)
    assert seen.logits.dtype == torch.bfloat16
    assert {p.dtype for p in one.params.values()} == {torch.float32}
    assert {p.grad.dtype for p in one.params.values()} == {torch.float32}
    flat, labels = seen.logits.flatten(0, 1), y.flatten()
    for dtype in (torch.float32, torch.float64):
        loss = losses.softmax_cross_entropy(seen.logits, y, dtype=dtype)
        assert loss.dtype == dtype
        assert torch.equal(loss, F.cross_entropy(flat.to(dtype), labels))
        (grad,) = torch.autograd.grad(loss, seen.logits, retain_graph=True)
        assert grad.dtype == torch.bfloat16


def test_autocast_in_a_stack_and_in_a_look():
    members = [(language(), seed) for seed in (0, 1)]
    stack = Learner(members, stacked=True)
    for _ in range(3):
        losses_of_step = stack.step()
    for k, member in enumerate(members):
        one = Learner([member])
        for _ in range(3):
            loss = one.step()
        assert float(loss) == pytest.approx(float(losses_of_step[k]), rel=1e-2)
    weights, function = one.objective()
    _, wide = Learner([(language(autocast=None), 1)]).objective()
    assert float(function(weights)) == pytest.approx(float(wide(weights)), rel=1e-12)


def test_the_training_split_is_seen_as_a_step_sees_it():
    """With batch norm: statistics of the rows, dropout off, running means untouched."""
    sizes = {"classes": 11, "vocabulary": 11, "widths": (16,)}
    model, seen = Spec("mlp", **sizes, norm="batch", dropout=0.5), {}
    for is_asked in (False, True):
        one = Learner([(arm(model=model, batch_statistics=is_asked), 0)])
        for _ in range(3):
            one.step()
        held = {name: b.clone() for name, b in one.buffers.items()}
        seen[is_asked] = one.snapshot({"train", "test"})
        assert all(torch.equal(b, held[name]) for name, b in one.buffers.items())
        assert all(module.training for module in one.model.modules())
    weights = {name: p.detach() for name, p in one.params.items()}
    rows = F.one_hot(one.feed.train[0], 11).flatten(1).float()
    pre = F.linear(rows, weights["layers.0.weight"], weights["layers.0.bias"])
    how = weights["norms.0.weight"], weights["norms.0.bias"]
    hidden = F.batch_norm(pre, None, None, *how, training=True).relu()
    wanted = F.linear(hidden, weights["layers.1.weight"], weights["layers.1.bias"])
    torch.testing.assert_close(seen[True].train.logits, wanted, rtol=1e-4, atol=1e-4)
    assert not torch.allclose(seen[False].train.logits, wanted, atol=1e-2)
    assert torch.equal(seen[True].test.logits, seen[False].test.logits)


@pytest.mark.parametrize("size", [1, 6, 49, None])
def test_a_share_in_batches_is_that_of_all_rows_to_the_last_bit(size):
    """All right is exactly 1; of 85 test rows, as a network of 11 numbers has them."""
    one = Learner([(arm(eval_batch=size), 0)])
    logits = one.snapshot({"test"}).test.logits
    count = len(logits)
    for wrong in (0, 1, 7, count // 2, count):
        labels = logits.argmax(dim=-1)
        labels[:wrong] = (labels[:wrong] + 1) % 11
        one.feed.data = [replace(one.feed.data[0], y_test=labels)]
        vars(one.feed).pop("test", None)
        assert one.observe(["core"])["test_accuracy"] == (count - wrong) / count


def test_every_mean_of_whole_numbers_is_whole_again_times_its_count():
    for count in range(1, 200):
        hits = torch.arange(count + 1).double()
        counts = torch.full_like(hits, count)
        assert torch.equal(weighted(hits / count, counts), hits)
    nothing = weighted(torch.tensor(torch.nan), torch.tensor(0.0))
    assert nothing == 0 and weighted(torch.tensor(torch.nan), torch.tensor(2.0)).isnan()


def test_without_test_rows_the_training_rows_are_measured_all_the_same():
    data = Spec("helpers:without_test_rows")
    for size in (None, 50):
        found = Learner([(arm(dataset=data, eval_batch=size), 0)]).observe(["core"])
        assert found["test_accuracy"].isnan() and found["test_loss"].isnan()
        assert found["train_loss"].isfinite() and found["train_accuracy"] < 1


WIDTHS = ("float16", "bfloat16", "float32", "float64")
DTYPES = {f"weights in {width}": {"dtype": width} for width in WIDTHS}
DTYPES |= {f"products in {width}": {"autocast": width} for width in WIDTHS[:2]}
DTYPES |= {
    f"a loss in {width}": {"loss": Spec("softmax_cross_entropy", dtype=width)}
    for width in WIDTHS
}
DTYPES |= {
    f"products in float16, {name}": {"autocast": "float16", "loss": Spec(name)}
    for name in ("stablemax_cross_entropy", "exact_cross_entropy", "mean_squared_error")
}


@pytest.mark.parametrize("settings", DTYPES.values(), ids=DTYPES)
def test_every_dtype_of_an_arm_trains(settings):
    slow = Spec("adamw", lr=0.003, eps=1e-4)  # float16 rounds 1e-8 to 0
    one = Learner([(arm(optimizer=slow, **settings), 0)])
    first = float(one.step())
    for _ in range(20):
        last = float(one.step())
    assert 0 < last < first
    assert all(p.isfinite().all() for p in one.params.values())
