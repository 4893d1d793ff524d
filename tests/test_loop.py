"""The learner and its loop: alone = stacked, resumed = whole."""

import contextlib
import errno
import json
import math
import os
import pickle
import platform
import re
import signal
import subprocess
import sys
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from helpers import ENCODER, MLP, arm, pairs

from claimbook import names, observing, papers, project, protocol
from claimbook.engine import build, device, learner, loop, state
from claimbook.engine.learner import Learner
from claimbook.errors import Diverged, TrainingError
from claimbook.experiment import Spec

RESNET = {
    "dataset": Spec("cifar10", train_samples=8, test_samples=6),
    "model": Spec("resnet18", classes=10, width=4),
    "optimizer": Spec("sgd", lr=0.05, momentum=0.9),
    "epochs": 12,
    "observables": ("core", "update"),
}
BATCH_NORM = Spec("mlp", **MLP.options, norm="batch")
CLIP, CENTRE = Spec("clip", norm=0.1), Spec("centre_rows", names=("layers.1.weight",))
PENALTIES = Spec("logit_norm", strength=0.01), Spec("l2", strength=0.1)
RADIUS, DESCENT = Spec("radius", strength=0.1), Spec("descend_from", loss=2.3, lr=0.5)
SGD = Spec("sgd", lr=0.1, momentum=0.5)
SECOND = ("core", "curvature", "adam_curvature")
ARMS = {
    "AdamW": {},
    "⊥AdamW": {"wrappers": (Spec("orthogonal"),)},
    "scheduled SGD": {"optimizer": SGD, "wrappers": (Spec("gradient_norm_schedule"),)},
    "centred and clipped": {"wrappers": (CLIP, CENTRE)},
    "descent from a loss": {"wrappers": (DESCENT,), "trace": True},
    "batches with a schedule": {"batch_size": 10, "schedule": Spec("cosine", warmup=3)},
    "another loss later": {"later_loss": (9, Spec("stablemax_cross_entropy"))},
    "penalties": {"penalties": PENALTIES},
    "on activations": {"penalties": (RADIUS,), "schedule": Spec("warmup", over=10)},
    "kept in half precision": {"keep": (0, 7, 30), "keep_dtype": "float16"},
    "early stop": {"stop": 0.1, "rarely": (30, ("norms",)), "keep": (30,)},
    "on after the stop": {"stop": 0.02, "after_stop": 4, "keep": (30,)},
    "everything observed": {"observables": ("core", "gradients", "alignment")},
    "rare observables": {"rarely": (7, ("norms", "update")), "log": 10},
    "scaled": {"alpha": 0.5, "init_scale": 2.0},
    "dropout in batches": {"model": ENCODER, "batch_size": 10},
    "BatchNorm": {"model": BATCH_NORM, "trace": True},
    "curvature": {"model": BATCH_NORM, "log": 10, "observables": SECOND},
    "a whole ResNet": RESNET,
    "a ResNet in batches, augmented": RESNET
    | {
        "batch_size": 4,
        "eval_batch": 3,
        "augment": Spec("crop_flip", size=32, padding=4),
        "optimizer": Spec("sgd", lr=0.002, momentum=0.9),
        "schedule": Spec("staircase", every=10),
        "observables": ("core", "norms"),
    },
}


ALONE = "dropout in batches", "a ResNet in batches, augmented"  # draw random numbers
STACKED = {name: how for name, how in ARMS.items() if name not in ALONE}
pytestmark = pytest.mark.usefixtures("tiny_data")


def series(result):
    rows = result.rows  # the first has no observables of a step
    return {name: [r.get(name, 0.0) for r in rows] for name in rows[-1]}


def same(one, other):
    assert json.dumps(one.rows) == json.dumps(other.rows)
    assert one.trace == other.trace
    assert one.kept.keys() == other.kept.keys()
    for epoch, weights in one.kept.items():
        for name, weight in weights.items():
            assert torch.equal(weight, other.kept[epoch][name])


def in_float64(arm):
    """The same arm without rounding noise that Adam's tiny eps would blow up."""

    def wide(spec):
        return Spec(spec.name, **spec.options | {"dtype": "float64"})

    return replace(arm, dtype="float64", loss=wide(arm.loss))


def agree(in_stack, alone, rel=1e-6):
    expected, found = series(alone), series(in_stack)
    assert expected.keys() == found.keys()
    for column in expected:
        if column.endswith(("key.bias", "inputs.bias")):
            continue  # softmax sees no key's bias: its gradient is rounding alone
        # a sum of rounding errors of float32, whatever the weights are in
        near = {"rel": rel, "abs": 1e-6 if column == "class_sum" else 1e-9}
        assert found[column] == pytest.approx(expected[column], **near), column
    if alone.trace:
        assert in_stack.trace == pytest.approx(alone.trace, rel=rel)


def stacks_of_the_papers():
    """Some members of each stack, at smoke scale: a list for each."""
    stacks = []
    for name in papers.names():
        every = papers.get(name, "smoke")
        members = [(in_float64(a), seed) for a, seed in every.members()]
        members.sort(key=stack_key_of)
        stacks += [few_of(list(group)) for _, group in groupby(members, stack_key_of)]
    return stacks


def few_of(stack):
    """The first and the last member of a stack, and one of each kind of arm in it."""
    wanted = {frozenset(pairs(member[0])): member for member in stack}.values()
    return [one for one in stack if one in (stack[0], stack[-1], *wanted)]


def stack_key_of(member):
    return build.stack_key(member[0])


def covering(stacks):
    """Few stacks in which each two things that some arm combines meet.

    Greedy: the stack with the most new pairs is next.
    """
    left = [(stack, set().union(*(pairs(a) for a, _ in stack))) for stack in stacks]
    chosen, seen = [], set()
    while left:
        left = [(stack, new - seen) for stack, new in left if new - seen]
        left.sort(key=lambda one: len(one[1]))
        if left:
            stack, new = left.pop()
            chosen.append(stack)
            seen |= new
    return chosen


def test_each_two_things_that_the_papers_combine_train_in_a_stack():
    """Members of a stack together, the last of them alone too."""
    chosen = covering(stacks_of_the_papers())
    assert len(chosen) > 80
    for stack in chosen:
        is_alone = build.trains_alone(stack[0][0])
        group = stack[-1:] if is_alone else stack
        together = loop.train(group, stacked=not is_alone)
        assert [(one.arm, one.seed) for one in together] == group
        for one in together:
            assert stems_of(one.rows) == observing.stems(measured(one.arm))
            last = one.rows[-1]
            losses = (last["train_loss"], last["test_accuracy"])
            assert all(map(math.isfinite, losses)), one.arm.name
        if is_alone:
            continue
        member, in_stack = group[-1], together[-1]
        (alone,) = loop.train([member])
        # ⊥Grad scales a joint tensor as one, with the rounding in its key part
        joint = member[0].model.options.get("joint") and member[0].wrappers
        thin = member[0].model.options.get("head_norm") == "batch"  # a dozen rows
        agree(in_stack, alone, rel=1e-3 if joint else 1e-5 if thin else 1e-6)


def measured(arm):
    """Names of the observables of an arm, rare ones included."""
    return {*arm.observables, *(arm.rarely[1] if arm.rarely else ())}


def stems_of(rows):
    """What the columns of some rows are called before their first dot."""
    return {name.partition(".")[0] for row in rows for name in row} - {"epoch"}


def test_every_observable_is_asked_for_and_says_its_columns():
    """So the test above, which compares the columns of every arm, meets all of them."""
    every = [papers.get(name, "smoke") for name in papers.names()]
    asked = {name for one in every for arm in one.arms for name in measured(arm)}
    assert asked == names.observables().keys()
    stems = observing.stems()
    assert {"train_loss", "norm", "radius"} <= stems
    assert not {"epoch", "update_below"} & stems
    assert observing.stems(["norms", "update"]) == {
        "weight_norm",
        "norm",
        "update_norm",
    }


def after(questions):
    """Says that it is time to stop after so many questions."""
    left = iter(range(questions))
    return lambda: next(left, None) is None


def in_parts(members, checkpoint, **how):
    """What comes of members whose training is stopped twice."""
    for pause in (1, 7):
        stop = after(pause)
        if done := loop.train(members, checkpoint=checkpoint, should_stop=stop, **how):
            return done
        assert checkpoint.exists()
    return loop.train(members, checkpoint=checkpoint, **how)


@pytest.mark.parametrize("name", ARMS)
def test_resumed_and_with_unscaled_gradients_it_has_the_same_bits(
    name, tmp_path, monkeypatch
):
    members = [(arm(**ARMS[name]), 0)]
    assert build.trains_alone(members[0][0]) == (name in ALONE)
    (whole,) = loop.train(members)
    (resumed,) = in_parts(members, tmp_path / "checkpoint")
    same(whole, resumed)
    monkeypatch.setattr(learner, "GRADIENT_SCALE", 1.0)
    (unscaled,) = loop.train(members)
    same(whole, unscaled)


@pytest.mark.parametrize("name", STACKED)
def test_every_ability_stacks_and_a_stack_is_resumed(name, tmp_path):
    member = in_float64(arm(**STACKED[name]))
    members = [(member, 0), (member, 1)]
    together = loop.train(members, stacked=True)
    resumed = in_parts(members, tmp_path / "checkpoint", stacked=True)
    for one, in_stack, in_parts_too in zip(members, together, resumed, strict=True):
        same(in_stack, in_parts_too)
        (alone,) = loop.train([one])
        agree(in_stack, alone)
        torch.testing.assert_close(in_stack.kept, alone.kept)


def test_weights_are_kept_for_some_seeds_and_rounded():
    some = {"epochs": 3, "log": 2, "keep": (0, 1, 3)}  # 1 is not logged
    rounding = {"keep_seeds": (1,), "keep_dtype": "float16"}
    exact, rounded = (
        loop.train([(arm(**how), seed) for seed in (0, 1)], stacked=True)
        for how in (some, some | rounding)
    )
    assert list(map(series, rounded)) == list(map(series, exact))
    assert [list(one.kept) for one in rounded] == [[], [0, 1, 3]]
    for epoch, weights in rounded[1].kept.items():
        for name, weight in weights.items():
            assert torch.equal(weight, exact[1].kept[epoch][name].half())


def test_rare_observables_at_their_own_epochs_and_the_loss_of_every_step():
    settings = {"observables": ("core",), "rarely": (12, ("norms", "update"))}
    (result,) = loop.train([(arm(log=10, **settings), 0)])
    found = {row["epoch"]: "weight_norm" in row for row in result.rows}
    assert found == {0: True, 10: False, 12: True, 20: False, 24: True, 30: True}
    steps = [row["epoch"] for row in result.rows if "update_norm" in row]
    assert steps == [12, 24, 30]  # the first row has no step behind it
    (result,) = loop.train([(arm(trace=True, dtype="float64"), 0)])
    logged = [row["train_loss"] for row in result.rows]
    assert len(result.trace) == 30
    assert result.trace == pytest.approx(logged[:-1], rel=1e-6)


def test_a_stack_lies_on_its_device_as_a_whole():
    """On "meta", which computes nothing, mixing devices is an error as on a GPU."""
    for name in STACKED.keys() - {"curvature"}:  # eigenvalues need numbers
        members = [(arm(**STACKED[name]), k) for k in (0, 1)]
        one = Learner(members, "meta", stacked=True)
        before = one.weights()
        one.step()
        seen = one.observe(("core", "norms"), before)
        found = [*one.params.values(), *seen.values()]
        assert {tensor.device.type for tensor in found} == {"meta"}


def test_batches_visit_every_row_once_in_a_pass():
    one, seen = Learner([(arm(batch_size=12), 0)]), []
    for step in range(4):  # 48 rows
        one.feed.load_batch(step)
        seen += one.feed.batch[0].tolist()
    assert sorted(seen) == sorted(one.feed.train[0].tolist())
    one.feed.load_batch(4)
    assert one.feed.batch[0].tolist() != seen[:12]


@pytest.mark.parametrize("stacked", [False, True])
def test_batches_that_a_step_takes_itself_are_the_same(stacked):
    """As on a GPU: of many passes drawn at once, from any step on, in one place."""
    members = [(arm(batch_size=12), seed) for seed in range(1 + stacked)]
    one, other = (Learner(members, stacked=stacked).feed for _ in range(2))
    other.is_taken_in_step = True
    places = set()
    for step in (*range(10), 3, 70):  # 4 batches a pass, 30 epochs
        one.load_batch(step)
        other.load_batch(step)
        other.take_batch()
        assert all(map(torch.equal, one.batch, other.batch))
        places.add((other.orders.data_ptr(), other.batch[0].data_ptr()))
    assert len(places) == 1 and other.orders.shape[1] == 32
    one, other = (Learner(members, stacked=stacked) for _ in range(2))
    other.feed.is_taken_in_step = True
    assert all(torch.equal(one.step(), other.step()) for _ in range(10))


def test_rows_that_members_share_are_held_once():
    images = Spec("cifar10", test_samples=6)
    members = [(arm(**RESNET | {"dataset": images}), seed) for seed in (0, 1)]
    x, y = Learner(members, stacked=True).feed.train
    assert x.shape[:2] == y.shape == (2, 30)
    assert x.stride(0) == y.stride(0) == 0
    x, _ = Learner([(arm(), seed) for seed in (0, 1)], stacked=True).feed.train
    assert x.stride(0) > 0


def test_one_step_by_hand():
    """All rows, no wrapper: the plain step of torch, running means included."""
    member = (arm(**RESNET), 0)
    ours = Learner([member])
    data, twin = build.start(*member)
    step = torch.optim.SGD(twin.parameters(), lr=0.05, momentum=0.9)
    for _ in range(3):
        step.zero_grad()
        loss = torch.nn.functional.cross_entropy(twin(data.x_train), data.y_train)
        loss.backward()
        step.step()
        assert float(ours.step()) == pytest.approx(float(loss.detach()), rel=1e-5)
    state = ours.params | ours.buffers
    for name, expected in twin.state_dict().items():
        torch.testing.assert_close(state[name], expected, msg=name)


def test_looks_change_nothing_and_do_not_depend_on_their_batches():
    one = Learner([(arm(**ARMS["a ResNet in batches, augmented"]), 0)])
    one.step()
    before = one.state()
    one.observe(("core", "norms"), one.weights())
    after = one.state()
    for part in ("params", "buffers"):
        assert all(torch.equal(before[part][n], after[part][n]) for n in before[part])
    assert one.model.training
    seen = []
    for size in (1, 3, 100, None):
        one = Learner([(arm(**RESNET | {"eval_batch": size}), 0)])
        one.step()
        seen.append({k: float(v) for k, v in one.observe(("core", "collapse")).items()})
    # without batches all 8 training rows are looked at, not as many as the test set has
    for found in seen[:2]:
        assert found == pytest.approx(seen[2], rel=1e-5)
    assert seen[3]["test_loss"] == pytest.approx(seen[2]["test_loss"], rel=1e-5)


def test_devices_and_the_library_of_a_processor(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert device.choose_device() == "cpu"
    libraries = {"GenuineIntel": "torch", "AuthenticAMD": "onednn", "": "torch"}
    for maker, library in libraries.items():
        monkeypatch.setattr(device, "_cpuinfo", lambda key, maker=maker: maker)
        (found,) = loop.train([(arm(epochs=1), 0)])
        assert found.info["matmul"] == library
        assert not protocol.now.onednn
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "H200")
    about = {"device": "cuda", "device_name": "H200", "matmul": "cuBLAS"}
    about |= {"torch": torch.__version__.split("+")[0]}
    assert device.describe("cuda") == about | {"python": platform.python_version()}
    monkeypatch.setattr(device, "prepare_gpu", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        loop.train([(arm(), 0)], device="cuda")


def test_a_gpu_rounds_as_it_is_asked_to_and_has_a_stream_to_capture(monkeypatch):
    asked, matmul, cudnn, memory = [], *(SimpleNamespace() for _ in range(3))
    monkeypatch.setattr(torch.backends.cuda, "matmul", matmul)
    monkeypatch.setattr(torch.backends, "cudnn", cudnn)
    monkeypatch.setattr(torch.utils, "deterministic", memory)
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    monkeypatch.setattr(torch, "use_deterministic_algorithms", partial(note, asked))
    monkeypatch.setattr(torch.cuda, "set_stream", partial(note, asked))
    monkeypatch.setattr(torch.cuda, "Stream", lambda: "stream")
    device.prepare_gpu.__wrapped__()
    library = SimpleNamespace(mallopt=lambda *pair: kept.append(pair))
    threads, kept = [], []
    monkeypatch.setattr(device.ctypes, "CDLL", {"libc.so.6": library}.get)
    monkeypatch.setattr(torch, "set_num_threads", threads.append)
    device.prepare_cpu()
    assert (threads, kept) == ([1], [(-3, 2**30), (-1, 2**31 - 1)])
    assert asked == [((True,), {"warn_only": True}), (("stream",), {})]
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
    assert not (matmul.allow_tf32 or cudnn.allow_tf32)
    assert not memory.fill_uninitialized_memory


def note(asked, *words, **options):
    asked.append((words, options))


def paused(checkpoint, member):
    """Leave a checkpoint of a member that has been stopped at once."""
    done = loop.train([member], checkpoint=checkpoint, should_stop=lambda: True)
    assert done is None


def test_a_checkpoint_that_does_not_fit_is_kept_aside_and_why(tmp_path, monkeypatch):
    member, checkpoint = (arm(epochs=3, keep=(0,)), 0), tmp_path / "checkpoint"

    def left(*member):
        """The checkpoint of a member that has been stopped at once."""
        checkpoint.unlink(missing_ok=True)
        paused(checkpoint, member)
        return checkpoint.read_bytes()

    mine, misfits = left(*member), []
    version = torch.__version__
    other_torch = mine.replace(version.encode(), b"1.13.1", 1)
    misfits += [
        ("is of another arm or seed:", left(arm(epochs=3, keep=(0,), alpha=2.0), 0)),
        ("is of another arm or seed:", left(arm(epochs=3, keep=(0,)), 1)),
        ("is damaged:", b""),
        ("is damaged:", b"no checkpoint"),
        ("is damaged:", mine[:-100]),
        (r"is of another format \(9, now 4\):", mine.replace(b"4", b"9", 1)),
        (rf"with another torch \(1.13.1, now {re.escape(version)}\):", other_torch),
    ]
    now = project.source()
    with monkeypatch.context() as patch:
        patch.setattr(project, "source", lambda: "0" * 64)
        by_other_code = left(*member)
    said = rf"was begun by other code \(source 0{{12}}…, now {now[:12]}…\):"
    misfits.append((said, by_other_code))
    (whole,) = loop.train([member])
    for number, (said, content) in enumerate(misfits):
        checkpoint.write_bytes(content)
        match = f"^the checkpoint checkpoint .*{said}.* it is kept aside as checkpoint"
        with pytest.warns(UserWarning, match=match):
            (found,) = loop.train([member], checkpoint=checkpoint)
        same(found, whole)
        aside = tmp_path / f"checkpoint.aside{number or ''}"
        assert aside.read_bytes() == content


def test_a_checkpoint_is_written_once_a_minute_and_at_the_end(tmp_path, monkeypatch):
    """Not after every epoch once the first minute is over."""
    now, saved = [0.0], []
    monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def write(_checkpoint, _identity, content):
        saved.append(content["learner"]["step"])

    def report(epoch):
        now[0] = 25.0 * epoch

    monkeypatch.setattr(state, "write", write)
    member, checkpoint = (arm(epochs=10), 0), tmp_path / "checkpoint"
    loop.train([member], checkpoint=checkpoint, report=report)
    assert saved == [3, 6, 9, 10]
    monkeypatch.undo()
    monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=lambda: now[0]))
    now[0] = 0.0
    how = {"checkpoint": checkpoint, "report": report}
    assert loop.train([member], should_stop=after(3), **how) is None
    now[0] = 1000.0  # the time between is no training
    (one,) = loop.train([member], checkpoint=checkpoint)
    assert one.seconds == 100
    (one,) = loop.train([member], checkpoint=checkpoint)
    assert one.seconds == 100


KILLED = """
import os, pickle, signal, sys
from pathlib import Path
from claimbook.engine import device, loop

device.prepare_cpu()
member, folder = (pickle.loads(bytes.fromhex(sys.argv[1])), 3), Path(sys.argv[2])
loop.CHECKPOINT_SECONDS = 0
write, saved = Path.write_bytes, []

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def half(path, content):
    saved.append(path)
    if len(saved) == 12 and moment == "writing":
        write(path, content[:1000])
        die()
    write(path, content)
    if len(saved) == 12 and moment == "before the new name":
        die()

def report(epoch):
    if moment == "training" and epoch == 17:
        die()

Path.write_bytes = half
for moment in sys.argv[3:]:
    child = os.fork()
    if not child:
        loop.train([member], checkpoint=folder / moment, report=report)
        os._exit(0)
    print(moment, os.waitpid(child, 0)[1])
"""


def test_kill_9_then_resume_equals_uninterrupted(tmp_path):
    one = arm(epochs=20, model=ENCODER, keep=(5, 20))
    (whole,) = loop.train([(one, 3)])
    moments = "training", "writing", "before the new name"
    words = [sys.executable, "-c", KILLED, pickle.dumps(one).hex(), tmp_path, *moments]
    ends = subprocess.check_output(words, text=True).splitlines()
    assert ends == [f"{moment} {signal.SIGKILL:d}" for moment in moments]
    for moment in moments:
        saved = state.read(tmp_path / moment, loop.identity([(one, 3)]))
        assert 10 < saved["learner"]["step"] < 20
        (resumed,) = loop.train([(one, 3)], checkpoint=tmp_path / moment)
        same(whole, resumed)


def test_two_runs_that_save_the_same_member_at_once(tmp_path, monkeypatch):
    """Two experiments may share it; the later of the two states stays, whole."""
    checkpoint, whose = tmp_path / "checkpoint", {"members": []}
    write, waiting = Path.write_bytes, [{"step": 2}]

    def interrupted(path, content):
        write(path, content)
        if waiting:
            state.write(checkpoint, whose, waiting.pop())
            assert state.read(checkpoint, whose) == {"step": 2}

    monkeypatch.setattr(Path, "write_bytes", interrupted)
    state.write(checkpoint, whose, {"step": 1})
    assert state.read(checkpoint, whose) == {"step": 1}
    assert list(tmp_path.iterdir()) == [checkpoint]


def test_full_disk_under_a_checkpoint(tmp_path, monkeypatch):
    def no_memory(*_, **__):
        raise torch.OutOfMemoryError

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    member, checkpoint = (arm(), 0), tmp_path / "checkpoint"
    paused(checkpoint, member)
    whole = checkpoint.read_bytes()
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(TrainingError, match="No space left .* free some"):
        paused(checkpoint, member)
    monkeypatch.setattr(torch, "load", no_memory)
    with pytest.raises(torch.OutOfMemoryError):  # of a GPU: a stack is halved then
        loop.train([member], checkpoint=checkpoint)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [whole]


def test_a_member_goes_on_after_its_stop_even_if_it_falls_below_it():
    """At least ``after_stop`` epochs from the first look at the level, to a look."""

    def accuracies(**how):
        (one,) = loop.train([(arm(log=2, **how), 0)])
        return {row["epoch"]: row["test_accuracy"] for row in one.rows}

    whole = accuracies()
    level = max(list(whole.values())[:5])
    first = next(epoch for epoch, value in whole.items() if value >= level)
    assert max(accuracies(stop=level)) == first
    for more, last in ((0, first), (1, first + 2), (2, first + 2), (7, first + 8)):
        found = accuracies(stop=level, after_stop=more)
        assert found == {epoch: whole[epoch] for epoch in range(0, last + 1, 2)}
    assert max(accuracies(stop=level, after_stop=99)) == 30  # its last in any case
    assert min(whole[epoch] for epoch in range(first, first + 9, 2)) < level


def test_a_stop_between_two_looks_at_what_is_rare_is_looked_at():
    everything = (*arm().observables, "update")
    (whole,) = loop.train([(arm(observables=everything), 0)])
    level = max(series(whole)["test_accuracy"])
    rare = {"rarely": (30, ("update",)), "keep": (30,)}
    (one,) = loop.train([(arm(stop=level, **rare), 0)])
    last = one.rows[-1]
    assert 0 < last["epoch"] < 30
    assert last == whole.rows[len(one.rows) - 1]
    assert list(one.kept) == [last["epoch"]]


def test_nan_in_a_stack_keeps_the_other_members(tmp_path):
    rates = {"good": 0.1, "diverging": 1e30, "better": 0.2}
    sgd = {name: Spec("sgd", lr=lr) for name, lr in rates.items()}
    members = [(arm(name, optimizer=rule, stop=0.9), 0) for name, rule in sgd.items()]
    stop = {"stacked": True, "checkpoint": tmp_path / "checkpoint"}
    assert loop.train(members, should_stop=lambda: True, **stop) is None
    for _ in range(2):  # a row with NaN comes from the checkpoint the second time
        with contextlib.suppress(Diverged):
            loop.train(members, should_stop=after(20), **stop)
    with pytest.raises(Diverged, match="^arm 'diverging', seed 0: .* NaN") as caught:
        loop.train(members, **stop)
    good, lost, better = caught.value.outcomes
    assert lost is None and good.rows
    (alone,) = loop.train([members[2]])
    expected = pytest.approx(series(alone)["train_loss"], rel=1e-4)
    assert series(better)["train_loss"] == expected
