"""Running experiments: processes, stacks, budgets, order; nothing is lost."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from glob import escape
from pathlib import Path

import pytest
import torch
from helpers import ENCODER, arm, experiment

from grokbook import papers, records
from grokbook.engine import build, cost, device, loop, plan, pool, progress
from grokbook.errors import RecordError, TrainingError, Unfinished
from grokbook.experiment import Spec

pytestmark = pytest.mark.usefixtures("tiny_data")


def left(folder):
    """State files that a run has left behind."""
    return list((folder / ".checkpoints").iterdir())


@pytest.mark.parametrize("name", papers.names())
def test_every_experiment_runs(name, tmp_path):
    """One arm of each kind into a record; tests/test_loop.py stacks all arms."""
    smoke = papers.get(name, "smoke")
    arms = list({build.kind(arm): arm.name for arm in smoke.arms}.values())
    seed = smoke.seeds[0]
    record = pool.run(
        smoke,
        device="cpu",
        out=tmp_path,
        processes=0,
        arms=[escape(arm) for arm in arms],
        seeds=[seed],
    )
    assert set(record.members) == {f"{arm}|{seed}" for arm in arms}
    assert record.frame[["train_loss", "test_accuracy"]].notna().all(axis=None)
    assert left(tmp_path) == []


def test_worker_processes_equal_this_one(tmp_path):
    tiny = experiment(
        arm("a", keep=(30,), trace=True), arm("dropout", model=ENCODER, trace=True)
    )
    how = {"device": "cpu", "matmul": device.matmul_library()}
    there = pool.run(tiny, out=tmp_path / "pool", processes=2, **how)
    here = pool.run(tiny, out=tmp_path / "here", processes=0, **how)
    assert there.frame.equals(here.frame)
    assert there.trace("a").equals(here.trace("a"))
    torch.testing.assert_close(
        there.weights("a", 1, 30), here.weights("a", 1, 30), rtol=0, atol=0
    )


@pytest.mark.parametrize("processes", [0, 1])
def test_time_budget_stops_and_a_later_call_goes_on(tmp_path, processes):
    tiny = experiment(arm(epochs=60, log=10), seeds=(0,))
    options = {"device": "cpu", "out": tmp_path, "processes": processes}
    with pytest.raises(Unfinished, match="run the same command again"):
        pool.run(tiny, time_budget=1e-9, **options)
    record = pool.run(tiny, **options)
    whole = pool.run(tiny, device="cpu", out=tmp_path / "whole", processes=0)
    assert record.missing == []
    assert record.frame.equals(whole.frame)
    assert left(tmp_path) == []


def test_chosen_seeds_first_then_the_rest(tmp_path):
    record = pool.run(experiment(), out=tmp_path, processes=0, seeds=[1])
    assert record.missing == [("plain", 0)]
    finished = record.members["plain|1"]
    record = pool.run(experiment(), out=tmp_path, processes=0)
    assert record.missing == []
    assert record.members["plain|1"] == finished  # not trained again


def test_one_library_for_all_arms_of_a_record(tmp_path):
    """The first decides; another one is refused, and never chosen by a clock."""
    tiny = experiment(arm("a"), arm("b"), seeds=(0,))
    how = {"device": "cpu", "out": tmp_path, "processes": 1}
    pool.run(tiny, arms="a", matmul="torch", **how)
    with pytest.raises(TrainingError, match="was trained with torch, not onednn"):
        pool.run(tiny, matmul="onednn", **how)
    record = pool.run(tiny, **how)
    assert {m["matmul"] for m in record.members.values()} == {"torch"}


def test_replace_trains_again(tmp_path):
    tiny = experiment(seeds=(0,))
    pool.run(tiny, out=tmp_path, processes=0)
    wider = experiment(arm(observables=("core", "gradients")), seeds=(0,))
    record = pool.run(wider, out=tmp_path, processes=0)
    with pytest.raises(RecordError, match="grad_norm.*--replace"):
        record.series("plain", "grad_norm")
    record = pool.run(wider, out=tmp_path, processes=0, replace=True)
    assert len(record.series("plain", "grad_norm"))


def on_a_cpu(monkeypatch):
    """Let the path of a GPU run on this machine."""
    train = loop.train

    def on_cpu(members, **how):
        return train(members, **how | {"on": "cpu", "matmul": "torch"})

    monkeypatch.setattr(pool.loop, "train", on_cpu)
    monkeypatch.setattr(pool.devices, "choose_device", lambda name: name)


def test_stacks_write_the_same_record(tmp_path, monkeypatch):
    """As on a GPU, which this machine need not have."""
    on_a_cpu(monkeypatch)
    rates = (0.001, 0.01)
    arms = [
        arm(f"rate {lr}", dtype="float64", optimizer=Spec("adamw", lr=lr, eps=1e-8))
        for lr in rates
    ]
    tiny = experiment(*arms)
    stacked = pool.run(tiny, device="cuda", out=tmp_path / "stacked")
    monkeypatch.undo()
    alone = pool.run(tiny, device="cpu", out=tmp_path / "alone", processes=0)
    assert {m["members_together"] for m in stacked.members.values()} == {4}
    assert stacked.frame["train_loss"].to_numpy() == pytest.approx(
        alone.frame["train_loss"].to_numpy(), rel=1e-9
    )


def test_a_stack_too_large_for_the_gpu_is_halved(tmp_path, monkeypatch):
    """Until it fits, and what never does is told at the end."""
    on_a_cpu(monkeypatch)
    fits, seen = pool.loop.train, []

    def small(members, **how):
        seen.append(len(members))
        if len(members) > 1 or members[0][1] == 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return fits(members, **how)

    monkeypatch.setattr(pool.loop, "train", small)
    tiny = experiment(seeds=(0, 1, 2, 3))
    with pytest.raises(TrainingError, match="arm 'plain' does not fit into the GPU"):
        pool.run(tiny, device="cuda", out=tmp_path, keep_going=True)
    assert seen == [4, 2, 1, 1, 2, 1, 1]
    assert records.load(tiny, tmp_path).missing == [("plain", 3)]


def test_one_pool_trains_several_experiments_and_shared_members_once(tmp_path):
    one, other = experiment(), experiment(name="prieto2025/fig06c")
    both = pool.run_all([one, other], device="cpu", out=tmp_path, processes=2)
    assert [record.name for record in both] == [one.name, other.name]
    assert [record.missing for record in both] == [[], []]
    assert both[0].frame.equals(both[1].frame)
    assert both[0].members == both[1].members


def test_second_run_of_the_same_experiment_is_refused(tmp_path):
    with (
        records.locked(experiment(), tmp_path),
        pytest.raises(RecordError, match="another run is writing"),
    ):
        pool.run(experiment(), out=tmp_path, processes=0)
    assert pool.run(experiment(), out=tmp_path, processes=0).missing == []


def test_the_bar_counts_work_and_not_that_of_a_checkpoint(tmp_path, capsys):
    todo = plan.tasks([experiment()], tmp_path, "cpu")
    told = progress.Progress(todo, True)
    told.reach(todo[0], 20)
    told.reach(todo[0], 25)
    assert told.steps == 5
    price = told.price[todo[0].name]
    assert (told.bar.n, told.bar.total) == pytest.approx((5 * price, 40 * price))
    told.close()
    assert "prieto2025/fig06b: 0 of 2 members" in capsys.readouterr().err


def test_what_is_told_of_a_training(tmp_path, monkeypatch):
    """Time left goes by work, not by steps: a float64 step may cost twice as much."""
    clock = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    todo = plan.tasks([experiment()], tmp_path, "cpu")
    told = progress.Progress(todo, False)
    one, other = todo
    told.price = {one.name: 1.0, other.name: 3.0}
    told.total = 120.0
    assert told.line() == "prieto2025/fig06b: 0 of 2 members"
    told.reach(other, 0)
    clock[0] += 10
    told.reach(other, 10)  # 30 of 120, in 10 s
    assert told.line().endswith("0 of 2 members, 30 s left, 1 steps/s")
    told.reach(other, 20, done=True)  # it ended early, and has no work left
    assert told.work == 90  # all that it had
    assert told.line().startswith("prieto2025/fig06b: 1 of 2 members")
    told.reach(other, 30)  # a worker's word that comes late
    assert (told.steps, told.work) == (20, 90)


@pytest.mark.parametrize("variable", ["", "no"])
def test_lines_where_there_is_no_terminal(tmp_path, monkeypatch, capsys, variable):
    """And nothing at all in a notebook that is executed."""
    monkeypatch.setattr(progress, "EVERY", 0.0)
    monkeypatch.setenv("GROKBOOK_PROGRESS", variable)
    pool.run(experiment(seeds=(0,)), device="cpu", out=tmp_path, processes=0)
    err = capsys.readouterr().err
    if variable == "no":
        assert err == ""
    else:
        lines = err.splitlines()
        assert lines[0] == "prieto2025/fig06b: 0 of 1 members"
        assert lines[-1].startswith("prieto2025/fig06b: 1 of 1 members, ")
        assert lines[-1].endswith(" steps/s") and "\r" not in err


# What is trained first ---------------------------------------------------------------


def test_fewest_seeds_first_and_the_cheapest_of_them(tmp_path):
    a, b = arm("short", epochs=10), arm("long", epochs=1000, log=100)
    tiny = experiment(a, b, seeds=(0, 1))
    pool.run(tiny, device="cpu", out=tmp_path, processes=0, arms="short", seeds=[0])
    for on, wanted in (
        ("cpu", [[("long", 0)], [("short", 1)], [("long", 1)]]),
        ("cuda", [[("long", 0), ("long", 1)], [("short", 1)]]),
    ):
        order = plan.planned(plan.tasks([tiny], tmp_path, on), on)
        found = [[(t.member[0].name, t.member[1]) for t in g] for g, _ in order]
        assert found == wanted


def test_cost_is_counted_without_data():
    """0.074 GFLOP forward for one CIFAR image, three times that in training."""
    one = papers.get("prieto2025/tab01vision", "paper").arms[0]
    assert cost.training_flop(one) == pytest.approx(1.1e15, rel=0.05)
    language = papers.get("prieto2025/tab01language", "paper").arms[0]
    assert cost.training_flop(language) == pytest.approx(9e16, rel=0.15)
    figure2 = papers.get("prieto2025/fig02", "paper").arms[0]
    seconds = cost.seconds([(figure2, 42)], "cpu")
    assert 60 < seconds < 1200  # 20,000 epochs of 10 to 20 ms, recorded: 600 s
    wide = cost.seconds([(figure2, s) for s in range(5)], "cuda")
    assert 10 < wide < 60  # measured: 26 s


def test_members_that_fail_do_not_stop_the_others(tmp_path):
    diverging = arm("diverging", optimizer=Spec("sgd", lr=1e30), epochs=100)
    tiny = experiment(diverging, arm("good"), seeds=(0,))
    for processes in (0, 1):
        out = tmp_path / str(processes)
        how = {"device": "cpu", "out": out, "processes": processes}
        told = "^1 members recorded, of the others: .* NaN"
        with pytest.raises(TrainingError, match=told):
            pool.run(tiny, keep_going=True, **how)
        assert records.load(tiny, out).missing == [("diverging", 0)]


# What goes wrong ---------------------------------------------------------------------


def test_nan_in_a_worker_keeps_what_is_finished(tmp_path):
    diverging = arm("diverging", optimizer=Spec("sgd", lr=1e30), epochs=10_000)
    tiny = experiment(arm("good", epochs=5), diverging, seeds=(0,))
    with pytest.raises(TrainingError, match="'diverging', seed 0: .* NaN"):
        pool.run(tiny, device="cpu", out=tmp_path, processes=1)
    assert records.load(tiny, tmp_path).missing == [("diverging", 0)]


def test_nan_in_a_stack_keeps_the_other_members(tmp_path, monkeypatch):
    rates = {"good": 0.1, "diverging": 1e30, "better": 0.2}
    arms = [arm(name, optimizer=Spec("sgd", lr=lr)) for name, lr in rates.items()]
    tiny = experiment(*arms, seeds=(0,))
    on_a_cpu(monkeypatch)
    with pytest.raises(TrainingError, match="'diverging', seed 0: .* NaN"):
        pool.run(tiny, device="cuda", out=tmp_path)
    assert records.load(tiny, tmp_path).missing == [("diverging", 0)]
    assert left(tmp_path) == []


def test_a_worker_that_is_killed_is_told_in_one_sentence(tmp_path):
    """And its member goes on from its checkpoint, bit for bit."""
    tiny = experiment(arm(epochs=8000, log=100), seeds=(0,))
    how = {"device": "cpu", "processes": 1}

    def kill():
        until = time.monotonic() + 60
        while time.monotonic() < until:
            for child in multiprocessing.active_children():
                time.sleep(4)
                os.kill(child.pid, signal.SIGKILL)
                return
            time.sleep(0.05)

    import threading

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(TrainingError, match="ended without a word"):
        pool.run(tiny, out=tmp_path / "killed", **how)
    killer.join()
    found = pool.run(tiny, out=tmp_path / "killed", **how)
    whole = pool.run(tiny, out=tmp_path / "whole", **how)
    assert found.frame.equals(whole.frame)


PARENT = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from helpers import arm, experiment
from grokbook.engine import pool

if __name__ == "__main__":
    pool.run(
        experiment(arm(epochs=10**7, log=10**6)), device="cpu", out=Path(sys.argv[2])
    )
"""


def test_workers_end_with_their_parent(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    parent = subprocess.Popen(
        [sys.executable, script, str(Path(__file__).parent), tmp_path / "out"]
    )
    children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
    if not children.parent.exists():
        pytest.skip("children are counted in /proc")
    until = time.monotonic() + 60
    while len(children.read_text().split()) < 2 and time.monotonic() < until:
        time.sleep(0.2)
    time.sleep(3)
    pids = children.read_text().split()
    parent.kill()
    parent.wait()
    until = time.monotonic() + 20
    while any(Path(f"/proc/{p}").exists() for p in pids) and time.monotonic() < until:
        time.sleep(0.2)
    assert len(pids) >= 2
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_a_disk_that_is_really_full(tmp_path):
    """On a small tmpfs: an error, no half file, and with more room it goes on."""
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
        with pytest.raises((TrainingError, RecordError), match="free some space"):
            pool.run(large, **options)
        parts = [p for p in disk.rglob("*.part")]
        assert parts == []
        subprocess.run(["mount", "-o", "remount,size=8m", disk], check=True)
        assert pool.run(large, **options).missing == []
    finally:
        subprocess.run(["umount", disk], check=True)
