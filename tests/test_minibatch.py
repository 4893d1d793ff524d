"""Training in batches: schedule, buffers, bounded evaluation, exact resume."""

import json
from dataclasses import replace

import pytest
import torch
from helpers import tiny_cifar, tiny_corpus, tiny_images

from grokbook import (
    corpora,
    losses,
    metrics,
    minibatch,
    papers,
    records,
    schedules,
    training,
    workers,
)
from grokbook.experiment import Experiment, Spec

NAMES = ["prieto2025/tab01vision", "prieto2025/tab01language"]


@pytest.fixture(scope="module", autouse=True)
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("downloads")
    corpora.encoder.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        tiny_cifar(folder, patch, images=6)
        tiny_corpus(folder, patch)
        tiny_images(folder, patch, size=(256, 256))
        yield
    corpora.encoder.cache_clear()


def arm(name, **changes):
    return replace(papers.get(name, "smoke").arms[0], **changes)


def member(name, seed=0, **changes):
    one = arm(name, **changes)
    return minibatch.Minibatch(one, seed, *training.start(one, seed), "cpu")


# Schedules ---------------------------------------------------------------------------


def test_staircase():
    factors = [schedules.staircase(k, 100, every=30) for k in (0, 29, 30, 60, 99)]
    assert factors == pytest.approx([1, 1, 0.1, 0.01, 0.001])


def test_cosine_with_warmup():
    factors = [
        schedules.cosine(k, 110, warmup=10) for k in (0, 4, 9, 10, 35, 60, 85, 109)
    ]
    expected = [0.1, 0.5, 1, 1, 0.5 + 0.125**0.5, 0.5, 0.5 - 0.125**0.5, 0.00025]
    assert factors == pytest.approx(expected, abs=1e-4)
    assert schedules.cosine(0, 10) == 1


def test_optimizer_follows_the_schedule():
    one = member(NAMES[1], epochs=6)
    rates = []
    for _ in range(6):
        one.step()
        rates.append(one.optimizer.param_groups[0]["lr"])
    assert rates == pytest.approx(
        [5e-4 * schedules.cosine(k, 6, warmup=2) for k in range(6)]
    )


def test_steps_and_passes_of_the_paper():
    """100 passes in batches of 128, a tenth of the rate after 30, 60 and 90 of them."""
    one = papers.get(NAMES[0], "paper").arms[0]
    assert one.epochs == 39_000
    assert one.schedule.options["every"] == 30 * 390
    language = papers.get(NAMES[1], "paper").arms[0]
    assert language.epochs * 16 * 512 == pytest.approx(118e6, rel=0.01)
    assert len(papers.get(NAMES[1], "paper").seeds) == 3
    assert len(papers.get(NAMES[0], "paper").seeds) == 5


# The step ----------------------------------------------------------------------------


def test_batches_visit_every_row_once_in_a_pass():
    one = member(NAMES[0])
    rows = []
    for one.epoch in range(2):
        rows += one._rows().tolist()
    assert sorted(rows) == list(range(8))
    one.epoch = 2
    assert one._rows().tolist() != rows[:4]


def test_one_step_by_hand():
    """No schedule, no augmentation, all rows: the plain step of torch."""
    settings = {"schedule": None, "augment": None, "batch_size": None}
    one = member(NAMES[0], **settings)
    _, twin = training.start(one.arm, 0)
    step = torch.optim.SGD(twin.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    for _ in range(3):
        step.zero_grad()
        logits = twin(one.data.x_train)
        losses.softmax_cross_entropy(logits, one.data.y_train).backward()
        step.step()
        one.step()
    for (name, expected), found in zip(
        twin.state_dict().items(), one.model.state_dict().values(), strict=True
    ):
        torch.testing.assert_close(found, expected, msg=name)


def test_evaluation_does_not_depend_on_its_batches():
    for name in NAMES:
        seen = []
        for size in (1, 3, 100):
            one = member(name, eval_batch=size, observables=("core", "collapse"))
            one.step()
            seen.append({k: float(v) for k, v in one.observe(None).items()})
        assert seen[0] == pytest.approx(seen[2], rel=1e-5)
        assert seen[1] == pytest.approx(seen[2], rel=1e-5)


def test_evaluation_changes_nothing():
    """Running means move in training only."""
    one = member(NAMES[0])
    one.step()
    before = one.state()["network"]
    one.observe(None)
    after = one.state()["network"]
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert one.model.training


def test_top5():
    logits = torch.arange(12.0).expand(2, 3, 12)
    labels = torch.tensor([[11, 7, 6], [0, 8, 10]])
    assert metrics.top_accuracy(logits, labels, k=5) == 4 / 6
    assert metrics.top_accuracy(logits, labels, k=50) == 1


# The loop ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_resume_is_bit_exact(tmp_path, name):
    """Momentum, running means, dropout, crops and the schedule all go on."""
    for one in papers.get(name, "smoke").arms:
        members = [(replace(one, epochs=60, log=20, keep=(60,)), 3)]
        (whole,) = training.train(members)
        for pause in (1, 2, None):
            calls = iter(range(pause or 0))
            parts = training.train(
                members,
                checkpoint=tmp_path / one.name,
                should_stop=lambda c=calls, p=pause: p and next(c, None) is None,
            )
        assert json.dumps(parts[0].rows) == json.dumps(whole.rows)
        for weight, expected in zip(
            parts[0].kept[60].values(), whole.kept[60].values(), strict=True
        ):
            assert torch.equal(weight, expected)


def test_training_fits_the_text():
    one = arm(NAMES[1], epochs=80, log=80, optimizer=Spec("adamw", lr=0.02))
    (outcome,) = training.train([(one, 0)])
    assert outcome.rows[0]["train_loss"] == pytest.approx(5.55, abs=0.1)  # log 256
    assert outcome.rows[-1]["train_loss"] < 3
    assert outcome.rows[-1]["test_top5"] > 0.6


def test_same_seed_same_series_other_seed_another():
    (a,), (b,), (c,) = (training.train([(arm(NAMES[0]), s)]) for s in (0, 0, 1))
    assert a.rows == b.rows != c.rows


def test_gpu_trains_such_members_one_at_a_time(tmp_path):
    smoke = papers.get(NAMES[0], "smoke")
    some = Experiment(smoke.name, "smoke", smoke.arms[:1], (0, 1))
    place = workers._Place(tmp_path, None, workers._Bar([], enabled=False))
    tasks = [workers._Task(m, [some]) for m in some.members()]
    workers._run_stacked(tasks, "cpu", place)
    record = records.load(some, tmp_path)
    assert record.missing == []
    assert {m["members_together"] for m in record.members.values()} == {1}


def test_cost_is_counted_without_data():
    """0.074 GFLOP forward for one CIFAR image, three times that in training."""
    one = papers.get(NAMES[0], "paper").arms[0]
    assert minibatch.training_flop(one) == pytest.approx(1.1e15, rel=0.05)
    language = papers.get(NAMES[1], "paper").arms[0]
    assert minibatch.training_flop(language) == pytest.approx(9e16, rel=0.15)
