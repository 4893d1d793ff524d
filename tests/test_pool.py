"""Running experiments: processes, stacks, budgets, order; nothing is lost."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import psutil
import pytest
import torch
from helpers import ENCODER, arm, experiment

from claimbook import project, records
from claimbook.engine import loop, pool
from claimbook.errors import BookError, NoRecord, TrainingError
from claimbook.experiment import Spec

pytestmark = pytest.mark.usefixtures("tiny_data")
PATIENCE = 300  # seconds that a busy machine may take for anything below


def left(folder):
    return list((folder / ".checkpoints").iterdir())


def until(happens):
    """Wait for something, as long as a busy machine may take."""
    end = time.monotonic() + PATIENCE
    while not (found := happens()):
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.05)
    return found


def test_a_member_that_fails_in_a_worker_stops_no_other(tmp_path, monkeypatch, capfd):
    """And it says in one line why it keeps a checkpoint aside."""
    monkeypatch.setenv("GROKBOOK_PROGRESS", "no")  # a slow machine shows more lines
    diverging = arm("diverging", optimizer=Spec("sgd", lr=1e30), epochs=100)
    tiny = experiment(diverging, arm("good", epochs=2), seeds=(0,))
    told = "^1 members recorded, of the others: .* NaN"
    for processes in (0, 1):
        todo = pool.tasks([tiny], tmp_path / str(processes))
        if processes:
            damaged = todo[1].checkpoint
            damaged.parent.mkdir(parents=True)
            damaged.write_bytes(b"damaged")
        with pytest.raises(TrainingError, match=told):
            pool.train(todo, device="cpu", processes=processes)
        assert records.missing(tiny, todo[0].out) == [(diverging, 0)]
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(f"grokbook: warning: the checkpoint {damaged.name} ")


def test_the_bar_ends_with_all_steps_that_are_due(tmp_path, monkeypatch, capfd):
    """Where a member ends early, too."""
    monkeypatch.delenv("GROKBOOK_PROGRESS", raising=False)
    arms = arm("early", stop=1e-9), arm("whole", epochs=20)
    pool.run(experiment(*arms, seeds=(0,)), tmp_path, device="cpu", processes=0)
    bar = capfd.readouterr().err.split("\r")[-1]
    assert bar.startswith("100%") and " 50/50 " in bar
    counted = []
    loop.train([(arm(epochs=6, log=3), 0)], report=counted.append)
    assert counted == [0, 3, 6]
    counted.clear()
    loop.train([(arm(epochs=50, log=50), 0)], report=counted.append)
    assert counted == [0, 20, 40, 50]


@pytest.mark.parametrize("processes", [0, 1])
def test_the_bar_of_a_resumed_member_begins_where_it_was(
    tmp_path, monkeypatch, processes
):
    """And its rate, which tells what is left, counts the steps of this call alone."""
    monkeypatch.setattr(pool, "ProcessPoolExecutor", Threads)
    bars = []

    class Bar(pool.tqdm):
        def __init__(self, **options):
            bars.append(self)
            super().__init__(**options)

    monkeypatch.setattr(pool, "tqdm", Bar)
    for shown in ("", "no"):
        monkeypatch.setenv("GROKBOOK_PROGRESS", shown)
        tiny = experiment(arm(epochs=50, log=50), seeds=(0,))
        (task,) = pool.tasks([tiny], tmp_path / (shown or "bar"))
        task.checkpoint.parent.mkdir(parents=True)
        how = {"checkpoint": task.checkpoint, "should_stop": lambda: True}
        assert loop.train([task.member], **how) is None  # at step 20
        assert pool.train([task], device="cpu", processes=processes) == 0
    assert (bars[0].initial, bars[0].n) == (20, 50)


def test_a_log_has_a_line_in_minutes_and_a_terminal_in_seconds(monkeypatch):
    intervals = []

    class Bar(pool.tqdm):
        def __init__(self, **options):
            intervals.append(options["mininterval"])
            super().__init__(**options)

    monkeypatch.setattr(pool, "tqdm", Bar)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    for is_terminal, shown in ((True, ""), (False, ""), (True, "log")):
        monkeypatch.setattr(os, "isatty", lambda _, answer=is_terminal: answer)
        monkeypatch.setenv("GROKBOOK_PROGRESS", shown)
        pool.train([], device="cpu")
    assert intervals == [1, pool.LOG_SECONDS, pool.LOG_SECONDS]


class Threads(ThreadPoolExecutor):
    """One thread in the place of worker processes; ``started`` has their numbers."""

    started: list[int] = []

    def __init__(self, number, _context, _prepare, shared):
        self.started.append(number)
        pool._SHARED.update(zip(("stop", "steps"), shared, strict=True))
        super().__init__(1)


class Dead(Threads):
    """Of which every worker ends without a word."""

    def submit(self, *_):
        return super().submit(self.end)

    def end(self):
        raise BrokenProcessPool


def test_fewer_workers_go_on_until_none_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr(Threads, "started", [])
    monkeypatch.setattr(pool, "ProcessPoolExecutor", Dead)
    todo = pool.tasks([experiment(seeds=range(6))], tmp_path)
    told = "^0 members recorded, of the others: a worker process ended without a word "
    told += r"\(no memory\?\): the same command goes on from its checkpoint$"
    with (
        pytest.warns(UserWarning, match=r"word \(no memory\?\): fewer at a time go on"),
        pytest.raises(TrainingError, match=told),
    ):
        pool.train(todo, device="cpu", processes=7)
    assert Threads.started == [6, 3, 1]


def test_each_kind_is_tried_once_and_an_error_is_a_sentence(tmp_path, monkeypatch):
    arms = arm("a"), arm("b", alpha=2.0), arm("c", dtype="float64")
    todo, tried = pool.tasks([experiment(*arms)], tmp_path), []
    monkeypatch.setattr(pool.Learner, "step", lambda one: tried.append(one.arm.name))
    pool.try_out(todo)
    assert tried == ["a", "c"]
    for error, told in (
        (ValueError("odd"), "^arm 'a' cannot be trained with these settings: odd$"),
        (BookError("ask me"), "^ask me$"),
    ):

        def fail(_, error=error):
            raise error

        monkeypatch.setattr(pool.Learner, "step", fail)
        with pytest.raises(BookError, match=told):
            pool.try_out(todo)


def test_time_budget_stops_and_a_later_call_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(pool, "ProcessPoolExecutor", Threads)
    tiny, how = experiment(seeds=(0,)), {"device": "cpu", "out": tmp_path}
    for processes in (0, 1):
        with pytest.raises(NoRecord):
            pool.run(tiny, time_budget=1e-9, processes=processes, **how)
    with ThreadPoolExecutor(1) as beside:  # which no signal reaches
        assert len(beside.submit(pool.run, tiny, processes=1, **how).result()) == 1
    assert left(tmp_path) == []


def test_what_lacks_a_look_is_trained_again_and_all_with_replace(tmp_path):
    tiny, how = experiment(seeds=(0,)), {"out": tmp_path, "processes": 0}
    before = pool.run(tiny, **how)
    assert pool.run(tiny, **how).members == before.members
    assert pool.train(pool.tasks([tiny], tmp_path, replace=True), processes=0) == 0
    again = records.load(tiny, tmp_path)
    assert again.members != before.members  # in other seconds
    wider = experiment(arm(observables=("core", "gradients")), seeds=(0,))
    assert "grad_norm" not in records.load(wider, tmp_path).frame
    assert len(pool.run(wider, **how).series("plain", "grad_norm"))


def on_a_cpu(monkeypatch):
    """Let the path of a GPU run on this machine."""
    train = loop.train
    on_cpu = lambda members, **how: train(members, **how | {"device": "cpu"})  # noqa: E731
    monkeypatch.setattr(pool.loop, "train", on_cpu)
    monkeypatch.setattr(pool.devices, "choose_device", lambda name: name)


def test_stacks_write_the_same_record(tmp_path, monkeypatch):
    on_a_cpu(monkeypatch)
    rates = (Spec("adamw", lr=lr, eps=1e-8) for lr in (0.001, 0.01))
    tiny = experiment(*(arm(str(r), dtype="float64", optimizer=r) for r in rates))
    stacked = pool.run(tiny, device="cuda", out=tmp_path / "stacked")
    monkeypatch.undo()
    alone = pool.run(tiny, device="cpu", out=tmp_path / "alone", processes=0)
    assert {m["members_together"] for m in stacked.members.values()} == {4}
    losses = (one.frame["train_loss"].to_numpy() for one in (stacked, alone))
    assert next(losses) == pytest.approx(next(losses), rel=1e-9)


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
    tiny = experiment(arm(epochs=3), seeds=(0, 1, 2, 3))
    with pytest.raises(TrainingError, match="arm 'plain' does not fit into the GPU"):
        pool.run(tiny, device="cuda", out=tmp_path)
    assert seen == [4, 2, 1, 1, 2, 1, 1]
    assert records.load(tiny, tmp_path).seeds("plain") == [0, 1, 2]


def test_processes_share_a_gpu_and_what_is_too_large_is_trained_at_the_end(
    tmp_path, monkeypatch
):
    """As many stacks at a time as are asked for, or as the GPU's service allows."""
    on_a_cpu(monkeypatch)
    monkeypatch.setenv("CUDA_MPS_PIPE_DIRECTORY", str(tmp_path))
    monkeypatch.setattr(Threads, "started", [])
    monkeypatch.setattr(pool, "ProcessPoolExecutor", Threads)
    seen, fits = [], pool.loop.train

    def crowded(members, **how):
        seen.append(len(members))
        if len(seen) == 1:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return fits(members, **how)

    monkeypatch.setattr(pool.loop, "train", crowded)
    arms = arm("a", epochs=3), arm("b", epochs=3, dtype="float64")
    tiny = experiment(*arms, seeds=(0, 1))
    found = pool.run(tiny, tmp_path / "asked", device="cuda", processes=2)
    assert (len(found), Threads.started, seen) == (4, [2], [2, 2, 2])
    assert len(pool.run(tiny, tmp_path / "one", device="cuda")) == 4
    assert Threads.started == [2]
    (tmp_path / "control").touch()
    assert len(pool.run(tiny, tmp_path / "several", device="cuda")) == 4
    assert Threads.started == [2, 2] and seen == [2] * 7
    some = lambda _, __, workers, *___: iter([(0, f"{workers} workers")])  # noqa: E731
    monkeypatch.setattr(pool, "_in_processes", some)
    todo = pool.tasks([tiny], tmp_path / "more")
    for on, cores, workers in (("cuda", 7, 4), ("cpu", 7, 7), ("cpu", None, 1)):
        monkeypatch.setattr(os, "cpu_count", lambda cores=cores: cores)
        with pytest.raises(TrainingError, match=f"others: {workers} workers$"):
            pool.train(todo, device=on)


def test_fewest_seeds_first_and_only_what_is_named(tmp_path, monkeypatch):
    a, b, c = arm("a"), arm("b", alpha=2.0), arm("c", dtype="float64")
    tiny = experiment(a, b, c, seeds=(0, 1))
    due = [(a, 1), (c, 0), (b, 1), (c, 1)]
    monkeypatch.setattr(records, "missing", lambda *_: due)

    def found(**which):
        todo = pool.tasks([tiny], tmp_path, **which)
        return [f"{task.member[0].name}{task.member[1]}" for task in todo]

    assert found() == ["c0", "a1", "b1", "c1"]
    assert found(seeds=[0]) == ["c0"]
    assert found(arms=["[ab]"]) == ["a1", "b1"]
    assert len(found(replace=True)) == 6
    stacks = pool.groups(pool.tasks([tiny], tmp_path))
    names = ["".join(task.member[0].name for task in stack) for stack in stacks]
    assert names == ["cc", "ab"]
    monkeypatch.undo()
    for settings, sizes in (({}, [128, 2]), ({"model": ENCODER}, [1] * 130)):
        many = experiment(arm(**settings), seeds=range(130))
        stacks = pool.groups(pool.tasks([many], tmp_path))
        assert [len(stack) for stack in stacks] == sizes


CHILD = """
import signal
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from helpers import arm, experiment
from claimbook import papers
from claimbook.__main__ import main
from claimbook.engine import loop

loop.CHECKPOINT_SECONDS = 0.0  # also in workers, which import this again
endless = experiment(arm(epochs=10**8, log=10**7), seeds=(0,))
papers.registries()["prieto2025"]["fig06b"] = lambda scale: endless

if __name__ == "__main__":
    # a shell that runs the tests in the background lets its children ignore Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)
    words = ["run", endless.name, "--scale", "smoke", "--processes", "1"]
    sys.argv[1:] = [*words, "--device", "cpu", "--out", sys.argv[2]]
    sys.exit(main())
"""


@pytest.fixture
def running(tmp_path):
    """The command in the middle of a training that never ends: process and workers."""
    script = tmp_path / "child.py"
    script.write_text(CHILD)
    command = subprocess.Popen(
        [sys.executable, script, str(Path(__file__).parent), tmp_path / "out"],
        env=os.environ | {"GROKBOOK_PROGRESS": "no"},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    saved = tmp_path / "out" / ".checkpoints"
    until(lambda: [f for f in saved.glob("*") if not f.name.endswith(".part")])
    yield command, psutil.Process(command.pid).children()
    if command.poll() is None:
        os.killpg(command.pid, signal.SIGKILL)
    command.communicate()


def test_ctrl_c_is_one_line_and_keeps_the_state(running, tmp_path):
    """As from a terminal: the workers get it too, and save what they have."""
    command, _ = running
    os.killpg(command.pid, signal.SIGINT)
    _, err = command.communicate(timeout=PATIENCE)
    assert command.returncode == 130, err
    assert err.splitlines()[-1].startswith("grokbook: stopped; the same command goes")
    assert "Traceback" not in err
    assert len(left(tmp_path / "out")) == 1


def test_workers_end_with_their_parent(running):
    command, workers = running
    assert workers
    command.kill()
    until(lambda: not any(worker.is_running() for worker in workers))


DYING = """
import os, signal, time
from pathlib import Path
from claimbook.engine import loop

folder, train = Path(os.environ["UNLUCKY"]), loop.train

def trained(members, **how):
    ((one, _),) = members
    with (folder / "story").open("a") as story:
        print(one.name, how["checkpoint"].exists(), file=story)
    if one.name == "b" and not (folder / "dead").exists():
        train(members, **how | {"should_stop": lambda: True})
        while not (folder / "die").exists():
            time.sleep(0.05)
        (folder / "dead").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return train(members, **how)

loop.train = trained
"""


def test_two_workers_equal_this_process_although_one_is_killed(tmp_path, monkeypatch):
    """Its member goes on from its checkpoint. What ended before is not trained again,
    though the end of the one and the death of the other are heard at once."""
    (tmp_path / "sitecustomize.py").write_text(DYING)
    folders = tmp_path, Path(pool.__file__).parents[2]
    monkeypatch.setenv("PYTHONPATH", ":".join(map(str, folders)))
    monkeypatch.setenv("UNLUCKY", str(tmp_path))

    def heard_at_once(jobs, **how):
        if len(jobs) == 1:
            return wait(jobs, **how)
        ended, dying = jobs
        assert ended.result() == (1, "")
        (tmp_path / "die").touch()
        wait([dying])
        return [dying, ended], []

    monkeypatch.setattr(pool, "wait", heard_at_once)
    arms = arm("a", keep=(30,), trace=True), arm("b", model=ENCODER, trace=True)
    tiny = experiment(*arms, seeds=(0,))
    sharing = experiment(*arms, seeds=(0,), name="prieto2025/fig06c")
    todo = pool.tasks([tiny, sharing], tmp_path / "there")
    with pytest.warns(UserWarning, match="ended without a word"):
        assert pool.train(todo, device="cpu", processes=2) == 0
    story = (tmp_path / "story").read_text().splitlines()
    assert sorted(story) == ["a False", "b False", "b True"]
    there, again = (records.load(one, tmp_path / "there") for one in (tiny, sharing))
    here = pool.run(tiny, tmp_path / "here", device="cpu", processes=0)
    assert there.frame.equals(here.frame) and there.frame.equals(again.frame)
    assert there.trace("b").equals(here.trace("b"))
    weights = (one.weights("a", 0, 30) for one in (there, here))
    torch.testing.assert_close(*weights, rtol=0, atol=0)


def test_only_what_nobody_is_writing_any_more_is_removed(tmp_path):
    """Parts of this file that are ten minutes old."""
    checkpoint = tmp_path / "key-42"
    ages = {"key-42.a": 605, "key-42.b": 595, "key-421.c": 605}
    old, young, other = (tmp_path / f"{name}.part" for name in ages)
    for path, age in zip((old, young, other), ages.values(), strict=True):
        path.touch()
        os.utime(path, (time.time() - age,) * 2)
    project.remove_parts(checkpoint)
    assert {*tmp_path.iterdir()} == {young, other}


def test_a_run_that_ends_leaves_the_part_of_one_that_goes_on(tmp_path, monkeypatch):
    """Two runs of the same members: the one behind can still save its state."""
    tiny = experiment(arm(epochs=60, log=10), seeds=(0,))
    (task,) = pool.tasks([tiny], tmp_path)
    with project.written_whole(task.checkpoint) as part:
        part.write_text("of the run behind")
        assert pool.train([task], device="cpu", processes=0) == 0
        assert part.exists()


def test_many_failures_are_one_sentence(monkeypatch):
    faults = [(0, f"arm {k}: the training loss became NaN") for k in range(28)]
    monkeypatch.setattr(pool, "_in_this_process", lambda *_: iter([(2, ""), *faults]))
    with pytest.raises(TrainingError, match="arm 2: [^;]*; and 25 more failed") as told:
        pool.train([])
    assert "arm 3" not in str(told.value)
