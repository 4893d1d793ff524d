"""One step, two executors: alone = stacked, resumed = uninterrupted, pool = here."""

import contextlib
import errno
import json
import math
import os
import signal
import subprocess
import sys
from dataclasses import fields, replace
from itertools import groupby
from pathlib import Path

import pytest
import torch
from helpers import (
    ENCODER,
    arm,
    experiment,
    tiny_cifar,
    tiny_corpus,
    tiny_images,
    tiny_mnist,
)

from grokbook import kernels, papers, records, training, workers
from grokbook.experiment import SCALES, Arm, Experiment, Spec

NO_DROPOUT = Spec("transformer", **(ENCODER.options | {"dropout": 0.0}))
ARMS = {
    "AdamW": {},
    "⊥AdamW": {"wrappers": (Spec("orthogonal"),)},
    "scheduled SGD": {
        "optimizer": Spec("sgd", lr=0.1, momentum=0.5),
        "wrappers": (Spec("gradient_norm_schedule"),),
    },
    "batches": {"batch_size": 10},
    "another loss later": {"later_loss": (9, Spec("stablemax_cross_entropy"))},
    "penalties": {
        "penalties": (Spec("logit_norm", strength=0.01), Spec("l2", strength=0.1))
    },
    "kept weights": {"keep": (0, 7, 30)},
    "kept in half precision": {"keep": (7, 30), "keep_dtype": "float16"},
    "early stop": {"stop": 0.02},
    "everything observed": {"observables": ("core", "gradients", "alignment")},
    "rare observables": {"rarely": (7, ("norms", "update")), "log": 10},
    "scaled, own split": {"alpha": 0.5, "init_scale": 2.0, "split_seed": 3},
    "dropout": {"model": ENCODER},
    "dropout in batches": {"model": ENCODER, "batch_size": 10},
}


@pytest.fixture(scope="module", autouse=True)
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("downloads")
    with pytest.MonkeyPatch.context() as patch:
        tiny_mnist(folder, patch, images=300)
        tiny_cifar(folder, patch, images=6)
        tiny_corpus(folder, patch)
        tiny_images(folder, patch, size=(256, 256))
        yield


def series(outcome):
    rows = outcome.rows  # the first has no observables of a step
    return {name: [r.get(name, 0.0) for r in rows] for name in rows[-1]}


def same(one, other):
    """The same rows and kept weights, bit for bit."""
    assert json.dumps(one.rows) == json.dumps(other.rows)
    assert one.kept.keys() == other.kept.keys()
    for epoch, weights in one.kept.items():
        for name, weight in weights.items():
            assert torch.equal(weight, other.kept[epoch][name])
    return True


def in_float64(arm):
    """The same arm without rounding noise that Adam's tiny eps would blow up."""

    def wide(spec):
        return Spec(spec.name, **spec.options | {"dtype": "float64"})

    return replace(arm, dtype="float64", loss=wide(arm.loss))


def has_dropout(arm):
    return arm.model.options.get("dropout", 0) > 0


# Members -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", papers.names())
def test_member_alone_equals_member_in_a_stack(name):
    """Every experiment; the stacks mix arms whose settings differ in numbers only."""
    every = papers.get(name, "smoke")
    if every.arms[0].eval_batch is not None:
        with pytest.raises(training.TrainingError, match="cannot be stacked"):
            training.train([(every.arms[0], 0)], stacked=True)
        return
    members = [(in_float64(a), seed) for a, seed in every.members()]
    members.sort(key=lambda member: training.kind(member[0]))
    for _, group in groupby(members, key=lambda member: training.kind(member[0])):
        group = list(group)
        together = training.train(group, stacked=True)
        for member, in_stack in zip(group, together, strict=True):
            (alone,) = training.train([member])
            assert (in_stack.arm, in_stack.seed) == member
            if has_dropout(member[0]):  # masks differ between the two
                assert all(math.isfinite(row["train_loss"]) for row in in_stack.rows)
                continue
            expected, found = series(alone), series(in_stack)
            assert expected.keys() == found.keys()
            for column in expected:
                assert found[column] == pytest.approx(
                    expected[column], rel=1e-6, abs=1e-9
                ), column


@pytest.mark.parametrize("settings", ARMS.values(), ids=ARMS)
def test_one_member_stack_and_kept_weights(settings):
    """Options that no figure of this chapter uses also stack."""
    member = in_float64(arm(**settings))
    members = [(member, 0), (member, 1)]
    together = training.train(members, stacked=True)
    for one, in_stack in zip(members, together, strict=True):
        (alone,) = training.train([one])
        assert len(alone.rows) == len(in_stack.rows)
        assert alone.kept.keys() == in_stack.kept.keys()
        if has_dropout(member):
            continue
        assert series(in_stack)["train_loss"] == pytest.approx(
            series(alone)["train_loss"], rel=1e-9
        )
        for epoch, weights in alone.kept.items():
            torch.testing.assert_close(in_stack.kept[epoch], weights)


@pytest.mark.parametrize("stacked", [False, True])
def test_weights_are_kept_for_some_seeds_and_rounded(stacked):
    some = arm(keep=(0, 30), keep_seeds=(1,), keep_dtype="float16")
    for seed in (0, 1):
        (rounded,) = training.train([(some, seed)], stacked=stacked)
        (exact,) = training.train([(arm(keep=(0, 30)), seed)], stacked=stacked)
        assert series(rounded) == series(exact)
        assert list(rounded.kept) == [0, 30] * seed
        for epoch, weights in rounded.kept.items():
            for name, weight in weights.items():
                assert torch.equal(weight, exact.kept[epoch][name].half())


def test_rare_observables_at_their_own_epochs():
    settings = {"observables": ("core",), "rarely": (12, ("norms", "update"))}
    (outcome,) = training.train([(arm(log=10, **settings), 0)])
    found = {row["epoch"]: "weight_norm" in row for row in outcome.rows}
    rare = {0: True, 12: True, 24: True, 30: True}
    assert found == {10: False, 20: False} | rare
    assert [("update_norm" in row) for row in outcome.rows] == [
        row["epoch"] in rare and row["epoch"] > 0 for row in outcome.rows
    ]


@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize("settings", ARMS.values(), ids=ARMS)
def test_resume_is_bit_exact(tmp_path, settings, stacked):
    """Stopped twice and resumed, a training ends like one that never stopped."""
    members = [(arm(**settings), seed) for seed in range(1 + stacked)]
    whole = training.train(members, stacked=stacked)
    checkpoint, parts = tmp_path / "checkpoint", None
    for pause in (7, 13, 10**9):
        calls = iter(range(pause))
        parts = training.train(
            members,
            stacked=stacked,
            checkpoint=checkpoint,
            should_stop=lambda calls=calls: next(calls, None) is None,
        )
        if parts is not None:
            break
        assert checkpoint.exists()
    assert all(same(a, b) for a, b in zip(whole, parts, strict=True))


@pytest.mark.parametrize("settings", ARMS.values(), ids=ARMS)
def test_a_stack_lies_on_its_device_as_a_whole(settings):
    """On "meta", which computes nothing, mixing devices is an error as on a GPU."""
    ensemble = training.Ensemble(
        [(arm(**settings), seed) for seed in (0, 1)], "meta", stacked=True
    )
    before = ensemble.weights()
    ensemble.step()
    found = [*ensemble.params.values(), *ensemble.observe(before).values()]
    assert {tensor.device.type for tensor in found} == {"meta"}


@pytest.mark.parametrize("rows", [0, 10**6], ids=["long tables", "short tables"])
@pytest.mark.parametrize(
    "settings",
    [{}, {"loss": Spec("exact_cross_entropy")}, {"model": ENCODER}],
    ids=["softmax", "exact", "transformer"],
)
def test_the_forms_for_a_gpu_give_the_same_values(settings, rows, monkeypatch):
    members = [(in_float64(arm(**settings)), seed) for seed in (0, 1)]
    if has_dropout(members[0][0]):
        members = [(replace(a, model=NO_DROPOUT), seed) for a, seed in members]
    plain = training.train(members, stacked=True)
    monkeypatch.setattr(kernels, "on_gpu", lambda x: True)
    monkeypatch.setattr(kernels, "_ONE_HOT_ROWS", rows)
    for ours, theirs in zip(training.train(members, stacked=True), plain, strict=True):
        expected = series(theirs)
        for column, values in series(ours).items():
            assert values == pytest.approx(expected[column], rel=1e-6, abs=1e-9), column


@pytest.mark.parametrize("settings", ARMS.values(), ids=ARMS)
def test_gradients_that_are_scaled_on_the_way_have_the_same_bits(settings, monkeypatch):
    member = (arm(**settings), 0)
    (scaled,) = training.train([member])
    monkeypatch.setattr(training, "GRADIENT_SCALE", {})
    (plain,) = training.train([member])
    assert same(scaled, plain)


@pytest.mark.parametrize("stacked", [False, True])
def test_no_product_of_a_collapsed_network_sees_a_subnormal(stacked, monkeypatch):
    """Scaled or not, the gradients agree to the spacing of subnormals."""
    collapsed = arm(
        loss=Spec("softmax_cross_entropy", dtype="float64"), init_scale=30.0
    )
    members = [(collapsed, seed) for seed in range(1 + stacked)]
    smallest, seen, linear = torch.finfo(torch.float32).tiny, [], kernels.linear

    def spy(*arguments, **options):
        out = linear(*arguments, **options)
        out.register_hook(
            lambda g: seen.append(((g != 0) & (g.abs() < smallest)).any())
        )
        return out

    def gradients():
        seen.clear()
        ensemble = training.Ensemble(members, "cpu", stacked=stacked)
        ensemble.step()
        return {name: p.grad for name, p in ensemble.params.items()}

    if not stacked:  # a tensor under vmap takes no hook
        monkeypatch.setattr(kernels, "linear", spy)
    scaled = gradients()
    assert not any(seen)
    monkeypatch.setattr(training, "GRADIENT_SCALE", {})
    plain = gradients()
    assert stacked or any(seen)
    for name, grad in plain.items():
        torch.testing.assert_close(scaled[name], grad, rtol=1e-6, atol=1e-42)
        assert grad.any()


def test_same_seed_same_series_other_seed_another():
    for settings in ({}, {"model": ENCODER}, {"batch_size": 10}):
        (a,), (b,), (c,) = (
            training.train([(arm(**settings), seed)]) for seed in (0, 0, 1)
        )
        assert same(a, b)
        assert a.rows != c.rows


def test_split_seed_fixes_the_data_alone():
    data = [training.start(arm(split_seed=5), seed) for seed in (0, 1)]
    assert torch.equal(data[0][0].x_train, data[1][0].x_train)
    weights = [next(model.parameters()) for _, model in data]
    assert not torch.equal(*weights)


def test_training_leaves_the_callers_generator_alone():
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    training.train([(arm(model=ENCODER, epochs=2), 0)])
    assert torch.equal(torch.rand(3), expected)


def test_batches_visit_every_row_once_in_a_pass():
    ensemble = training.Ensemble([(arm(batch_size=12), 0)], "cpu", stacked=False)
    seen = []
    for ensemble.epoch in range(4):  # 48 rows
        seen += ensemble._batch()[0].tolist()
    assert sorted(seen) == sorted(ensemble.train[0].tolist())


def test_loss_goes_down_and_starts_at_log_p():
    (outcome,) = training.train([(arm(epochs=200, log=50), 0)])
    losses = series(outcome)["train_loss"]
    assert losses[0] == pytest.approx(math.log(11), abs=0.1)
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.5


def test_figures_start_at_log_p_with_norm_13():
    """Prieto et al., Figure 2 at paper scale: 4.73 and 13.0 before the first step."""
    figure2 = papers.get("prieto2025/fig02", "paper").arms[1]
    (outcome,) = training.train([(replace(figure2, epochs=1, log=1), 42)])
    assert outcome.rows[0]["train_loss"] == pytest.approx(math.log(113), abs=0.02)
    assert outcome.rows[0]["weight_norm"] == pytest.approx(13.0, abs=0.1)


def test_nan_is_an_error_that_names_the_member():
    diverging = arm("diverging", optimizer=Spec("sgd", lr=1e30), epochs=100)
    with pytest.raises(training.TrainingError, match="arm 'diverging', seed 4: .* NaN"):
        training.train([(diverging, 4)])


def test_devices(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert training.choose_device() == "cpu"
    with pytest.raises(training.TrainingError, match="PyTorch finds no GPU"):
        training.choose_device("cuda")
    with pytest.raises(training.TrainingError, match="unknown device 'tpu'"):
        training.choose_device("tpu")


# Experiments as data -----------------------------------------------------------------


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", papers.names())
def test_json_round_trip(name, scale):
    before = papers.get(name, scale)
    after = Experiment.from_json(json.loads(json.dumps(before.to_json())))
    assert after == before
    assert [a.hash() for a in after.arms] == [a.hash() for a in before.arms]
    assert scale == "laptop" or before.reduced == ""
    assert {seed for _, seed in before.members()} == set(before.seeds)


def test_hash_changes_exactly_when_settings_change():
    changes = {
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
    }
    batched = {
        "eval_batch": 4,
        "schedule": Spec("cosine", warmup=2),
        "augment": Spec("crop_flip", size=8),
    }
    assert {*changes, *batched} == {field.name for field in fields(Arm)}
    changed = [replace(arm(), **{name: value}) for name, value in changes.items()]
    changed += [
        arm(observables=("core",), eval_batch=5, **{name: value})
        if name != "eval_batch"
        else arm(observables=("core",), eval_batch=value)
        for name, value in batched.items()
    ]
    hashes = [arm().hash(), *(one.hash() for one in changed)]
    assert len(set(hashes)) == len(hashes)
    assert arm().hash() == arm(alpha=1.0, keep=()).hash()
    assert arm(optimizer=Spec("adamw", eps=1e-8, lr=0.01)).hash() == arm().hash()


def test_hashes_do_not_move():
    """Records are found by these: a new field must not change them."""
    assert arm().hash() == "e687f8d7dfdf02bb"
    figure2 = papers.get("prieto2025/fig02", "paper").arms[0]
    assert figure2.hash() == "450445363deefd5d"


def test_bad_settings_are_refused_when_written():
    for changes, message in (
        ({"model": Spec("lstm")}, "unknown model 'lstm', use one of mlp"),
        ({"loss": Spec("mean_squared_error", power=3)}, "has no option"),
        ({"epochs": 0}, "at least 1"),
        ({"dtype": "float31"}, "no torch dtype"),
        ({"keep_dtype": "float31"}, "no torch dtype"),
        ({"observables": ("mood",)}, "no observable"),
        ({"schedule": Spec("cosine")}, "need eval_batch"),
        ({"eval_batch": 4}, "only collapse, core, norms, top5 can be observed"),
        ({"eval_batch": 4, "alpha": 2.0}, "alpha do not go with eval_batch"),
    ):
        with pytest.raises(ValueError, match=message):
            arm(**changes)
    with pytest.raises(ValueError, match="share a name"):
        experiment(arm(), arm())
    with pytest.raises(KeyError, match="no arm 'x'"):
        experiment().arm("x")


# Running -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", papers.names())
def test_every_experiment_runs(name, tmp_path):
    smoke = papers.get(name, "smoke")
    record = workers.run(smoke, out=tmp_path, processes=0)
    assert record.missing == []
    assert len(record.members) == len(smoke.arms) * len(smoke.seeds)
    assert record.frame[["train_loss", "test_accuracy"]].notna().all(axis=None)
    assert list((tmp_path / ".checkpoints").iterdir()) == []


def test_worker_processes_equal_this_one(tmp_path):
    tiny = experiment(arm("a", keep=(30,)), arm("dropout", model=ENCODER))
    pool = workers.run(tiny, device="cpu", out=tmp_path / "pool", processes=2)
    (backend,) = {member["matmul"] for member in pool.members.values()}
    kernels.set_backend(backend)
    here = workers.run(tiny, device="cpu", out=tmp_path / "here", processes=0)
    assert pool.frame.equals(here.frame)
    torch.testing.assert_close(
        pool.weights("a", 1, 30), here.weights("a", 1, 30), rtol=0, atol=0
    )


@pytest.mark.parametrize("processes", [0, 1])
def test_time_budget_stops_and_a_later_call_goes_on(tmp_path, processes):
    tiny = experiment(arm(epochs=60, log=10))
    options = {"device": "cpu", "out": tmp_path, "processes": processes}
    with pytest.raises(training.Unfinished, match="run the same command again"):
        workers.run(tiny, time_budget=1e-9, **options)
    assert len(list((tmp_path / ".checkpoints").iterdir())) == 1
    record = workers.run(tiny, **options)
    whole = workers.run(tiny, device="cpu", out=tmp_path / "whole", processes=0)
    assert record.missing == []
    columns = ["train_loss", "test_loss", "weight_norm"]
    assert record.frame[columns].to_numpy() == pytest.approx(
        whole.frame[columns].to_numpy(), rel=0 if processes == 0 else 1e-3
    )


def test_chosen_seeds_first_then_the_rest(tmp_path):
    record = workers.run(experiment(), out=tmp_path, processes=0, seeds=[1])
    assert record.missing == [("plain", 0)]
    finished = record.members["plain|1"]
    record = workers.run(experiment(), out=tmp_path, processes=0)
    assert record.missing == []
    assert record.members["plain|1"] == finished  # not trained again


def test_stacked_executor_writes_the_same_record(tmp_path):
    arms = [arm(f"rate {lr}", optimizer=Spec("adamw", lr=lr)) for lr in (0.001, 0.01)]
    tiny = experiment(*map(in_float64, arms))
    alone = workers.run(tiny, out=tmp_path / "alone", processes=0)
    members = list(tiny.members())
    place = workers._Place(tmp_path, None, workers._Bar(members, enabled=False))
    workers._run_stacked([workers._Task(m, [tiny]) for m in members], "cpu", place)
    stacked = records.load(tiny, tmp_path)
    assert stacked.missing == []
    assert stacked.frame["train_loss"].to_numpy() == pytest.approx(
        alone.frame["train_loss"].to_numpy(), rel=1e-9
    )


def test_one_pool_trains_several_experiments_and_shared_members_once(tmp_path):
    one, other = experiment(), experiment(name="prieto2025/fig06c")
    both = workers.run_all([one, other], out=tmp_path, processes=2)
    assert [record.name for record in both] == [one.name, other.name]
    assert [record.missing for record in both] == [[], []]
    assert both[0].frame.equals(both[1].frame)
    assert both[0].members == both[1].members


def test_second_run_of_the_same_experiment_is_refused(tmp_path):
    with (
        workers._locked(experiment(), tmp_path),
        pytest.raises(training.TrainingError, match="another run is training"),
    ):
        workers.run(experiment(), out=tmp_path, processes=0)
    assert workers.run(experiment(), out=tmp_path, processes=0).missing == []


def test_expected_seconds_grow_with_the_work():
    small, large = (papers.get("prieto2025/fig02", s) for s in ("smoke", "laptop"))
    rate = workers.matmul_rate("cpu")
    assert rate > 1e8
    seconds = [workers.expected_seconds(e, "cpu", rate) for e in (small, large)]
    assert 0 < seconds[0] < seconds[1]


def test_bar_counts_epochs_and_time_left(capsys):
    tiny = experiment()
    bar = workers._Bar(list(tiny.members()), enabled=True)
    bar.show("first", 0)
    bar.last = bar.began = bar.began - 1
    bar.show("first", 15)
    bar.done("first", 30)
    bar.close()
    shown = capsys.readouterr().err
    assert "[#####" in shown
    assert "epochs/s" in shown
    silent = workers._Bar(list(tiny.members()), enabled=False)
    silent.show("first", 15)
    silent.close()
    assert capsys.readouterr().err == ""


# What goes wrong ---------------------------------------------------------------------


def paused(checkpoint, member=None):
    """Leave a checkpoint of a member that has been stopped at once."""
    members = [member or (arm(), 0)]
    done = training.train(members, checkpoint=checkpoint, should_stop=lambda: True)
    assert done is None
    return members


def test_checkpoint_of_another_experiment(tmp_path):
    checkpoint = tmp_path / "checkpoint"
    paused(checkpoint)
    content = checkpoint.read_bytes()
    with pytest.raises(training.TrainingError, match="belongs to another experiment"):
        training.train([(arm(alpha=2.0), 0)], checkpoint=checkpoint)
    assert checkpoint.read_bytes() == content


@pytest.mark.parametrize("damage", [b"", b"no checkpoint", "half"])
def test_damaged_checkpoint(tmp_path, damage):
    checkpoint = tmp_path / "checkpoint"
    members = paused(checkpoint)
    whole = checkpoint.read_bytes()
    checkpoint.write_bytes(whole[: len(whole) // 2] if damage == "half" else damage)
    with pytest.raises(training.TrainingError, match="is damaged: delete it"):
        training.train(members, checkpoint=checkpoint)


KILLED = """
import json, os, signal, sys
from pathlib import Path
from grokbook import training
from grokbook.experiment import Arm

arm = Arm.from_json(json.loads(sys.argv[1]))
checkpoint, moment = Path(sys.argv[2]), sys.argv[3]
training.CHECKPOINT_SECONDS = 0
save, saved = training.torch.save, []

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def half(content, path):
    save(content, path)
    saved.append(path)
    if len(saved) == 12 and moment == "writing":
        path.write_bytes(path.read_bytes()[:1000])
        die()
    if len(saved) == 12 and moment == "before the new name":
        die()

training.torch.save = half
report = lambda epoch: die() if moment == "training" and epoch == 17 else None
training.train([(arm, 3)], checkpoint=checkpoint, report=report)
"""


@pytest.mark.parametrize("moment", ["training", "writing", "before the new name"])
def test_kill_9_then_resume_equals_uninterrupted(tmp_path, moment):
    one, checkpoint = arm(model=ENCODER, keep=(5, 30)), tmp_path / "checkpoint"
    (whole,) = training.train([(one, 3)])
    environment = os.environ | {
        "PYTHONPATH": str(Path(training.__file__).parents[1]),
        "OMP_NUM_THREADS": str(torch.get_num_threads()),
    }
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, json.dumps(one.to_json()), checkpoint, moment],
        env=environment,
    )
    assert killed.returncode == -signal.SIGKILL
    began_at = torch.load(checkpoint, weights_only=True)["state"]["epoch"]
    assert 10 < began_at < 20
    (resumed,) = training.train([(one, 3)], checkpoint=checkpoint)
    assert same(whole, resumed)


def full(*arguments, **options):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_full_disk_under_a_checkpoint(tmp_path, monkeypatch):
    checkpoint = tmp_path / "checkpoint"
    members = paused(checkpoint)
    whole = checkpoint.read_bytes()
    monkeypatch.setattr(torch, "save", full)
    with pytest.raises(training.TrainingError, match="No space left .* free some"):
        paused(checkpoint, members[0])
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [whole]


def test_full_disk_under_a_workers_result(tmp_path, monkeypatch, capsys):
    task = {"arm": arm().to_json(), "seed": 0, "time_left": None}
    lines = iter([json.dumps(task | {"checkpoint": str(tmp_path / "c")}), ""])
    monkeypatch.setattr(torch, "save", full)
    monkeypatch.setattr(kernels, "prepare_cpu", lambda: "torch")
    workers.main(lambda: next(lines))
    answer = json.loads(capsys.readouterr().out)
    assert answer["state"] == "failed"
    assert "No space left on device" in answer["why"]
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_really_full(tmp_path):
    """On a tmpfs of 32 kB: an error, no half file, and with more room it goes on."""
    disk = tmp_path / "disk"
    disk.mkdir()
    try:
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", disk],
            check=True,
            capture_output=True,
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("mounting a small disk needs root")
    try:
        large = experiment(arm(keep=tuple(range(31)), log=30))
        options = {"device": "cpu", "out": disk, "processes": 1}
        with pytest.raises(
            (training.TrainingError, records.RecordError), match="free some space"
        ):
            workers.run(large, **options)
        left = [p for p in disk.rglob("*") if p.is_file() and p.suffix != ".lock"]
        assert left == []
        subprocess.run(["mount", "-o", "remount,size=8m", disk], check=True)
        assert workers.run(large, **options).missing == []
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_dead_worker_is_told_in_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(training.TrainingError, match="ended without a word"):
        workers.run(experiment(), device="cpu", out=tmp_path, processes=1)


def test_a_damaged_result_is_named(tmp_path):
    tiny = experiment()
    (tmp_path / ".checkpoints").mkdir()
    first = training.identity(list(tiny.members()))[0]
    result = tmp_path / ".checkpoints" / f"{first}.done"
    result.write_bytes(b"half")
    with pytest.raises(training.TrainingError, match="done is damaged: delete it"):
        workers.run(tiny, device="cpu", out=tmp_path, processes=1)
    assert result.exists()


def test_nan_in_a_stack_keeps_the_other_members(tmp_path):
    """Also when it happened before the training was stopped and resumed."""
    rates = {"good": 0.1, "diverging": 1e30, "better": 0.2}
    arms = [
        arm(name, optimizer=Spec("sgd", lr=lr), stop=0.9) for name, lr in rates.items()
    ]
    members, checkpoint = [(one, 0) for one in arms], tmp_path / "checkpoint"
    paused = training.train(
        members, stacked=True, checkpoint=checkpoint, should_stop=lambda: True
    )
    assert paused is None
    for _ in range(2):  # a row with NaN comes from the checkpoint the second time
        calls = iter(range(20))
        with contextlib.suppress(training.Diverged):
            training.train(
                members,
                stacked=True,
                checkpoint=checkpoint,
                should_stop=lambda calls=calls: next(calls, None) is None,
            )
    with pytest.raises(training.Diverged, match="^arm 'diverging', seed 0: .* NaN"):
        training.train(members, stacked=True, checkpoint=checkpoint)

    tiny = experiment(*arms, seeds=(0,))
    tasks = workers._tasks([tiny], tmp_path)
    place = workers._Place(tmp_path, None, workers._Bar(members, False))
    with pytest.raises(training.TrainingError, match="'diverging', seed 0: .* NaN"):
        workers._train_group(tasks, "cpu", place, stacked=True)
    record = records.load(tiny, tmp_path)
    assert record.missing == [("diverging", 0)]
    (alone,) = training.train([members[2]])
    found = record.series("better", "train_loss")[0].tolist()
    assert found == pytest.approx(series(alone)["train_loss"], rel=1e-4)
    assert not list(place.folder.iterdir())


def test_nan_in_a_worker_keeps_what_is_finished(tmp_path):
    diverging = arm("diverging", optimizer=Spec("sgd", lr=1e30), epochs=100)
    tiny = experiment(arm("good"), diverging, seeds=(0,))
    with pytest.raises(training.TrainingError, match="'diverging', seed 0: .* NaN"):
        workers.run(tiny, device="cpu", out=tmp_path, processes=1)
    assert records.load(tiny, tmp_path).missing == [("diverging", 0)]
