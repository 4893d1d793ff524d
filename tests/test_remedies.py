"""Remedies × tasks: what was chosen is what the rule gives, and faults are told."""

import math
import runpy
from itertools import product

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from book._ext import notebooks, pages
from claimbook import papers, project, records
from claimbook.engine import device
from claimbook.experiment import Result
from grokbook import metrics
from grokbook.anywhere import StableMaxLoss
from grokbook.losses import stablemax_cross_entropy

DESIGN = runpy.run_path(f"{project.home()}/book/remedies/experiments.py")
CHOOSE = runpy.run_path(f"{project.home()}/book/remedies/choose.py")
STRENGTHS, FURTHER, CHOSEN = (DESIGN[n] for n in ("STRENGTHS", "FURTHER", "CHOSEN"))


@pytest.mark.parametrize("task", CHOSEN)
def test_what_was_chosen_is_what_the_rule_gives_and_no_seed_tunes_and_tests(task):
    """From the records: the best of the grid, its neighbours outside, the best then."""
    found = CHOOSE["tuned"](task)
    for remedy, chosen in CHOSEN[task].items():
        beyond, point, due = CHOOSE["decided"](task, remedy, found)
        joined = [one[1:] for one in FURTHER[task] if one[0] == remedy]
        assert (joined, chosen, []) == (beyond, point, due), remedy
        assert DESIGN["fault"](task, remedy, chosen) == "", remedy
    tested = papers.get(f"remedies/test-{task}", "laptop").seeds
    assert len(tested) == 5 and not {*tested} & {*DESIGN["TUNING"]}


def test_the_rule_asks_for_the_grid_then_the_four_best_then_what_lies_beyond(tmp_path):
    first, second = DESIGN["TUNING"]
    grid, every = CHOOSE["grid"]("decay"), papers.get("remedies/tune-e", "laptop")

    def decided():
        return CHOOSE["decided"]("e", "decay", CHOOSE["tuned"]("e", tmp_path))

    assert decided() == ([], None, [(point, first) for point in grid])

    def train(point, seed, onset):
        arm = every.arm(DESIGN["named"]("decay", *point))
        late = {"train_loss": 1.0, "train_accuracy": 1.0}
        rows = [
            {"epoch": epoch, "test_accuracy": float(k >= onset)} | late
            for k, epoch in enumerate(arm.logged_epochs()[: onset + 1])
        ]
        info = device.describe("cpu") | {"members_together": 1}
        records.add(every, Result(arm, seed, rows, {}, 1.0, info, None), tmp_path)

    for k, point in enumerate(grid):
        train(point, first, k % 8)
    _, none, due = decided()
    assert none is None and [p for p, _ in due] == [grid[k] for k in (0, 8, 1, 9)]
    for point, seed in due:
        train(point, seed, 3)
    beyond, none, due = decided()
    assert none is None and beyond == DESIGN["outside"]("decay", *grid[0])
    assert due == [*product(beyond, (first, second))]


def test_replayed_norms_are_the_medians_of_the_recorded_runs():
    """At every look that all five seeds have, to three digits."""
    for task, remedy in DESIGN["HELD_AT"].items():
        record = papers.record(f"remedies/test-{task}")
        (name,) = (
            arm.name
            for arm in record.experiment.arms
            if arm.name.startswith(f"{remedy}, ")
        )
        found = DESIGN["RECORDED"][task]
        for matrix, norms in zip(DESIGN["MATRICES"], found["norms"], strict=True):
            seen = record.series(name, f"norm.{matrix}").dropna()  # looks of all seeds
            assert list(seen.index) == [k * found["every"] for k in range(len(norms))]
            assert seen.shape[1] == 5
            assert norms == pytest.approx(list(seen.median(axis=1)), rel=5e-3)


def test_a_point_that_must_not_be_tested_says_so(monkeypatch):
    fault, further = DESIGN["fault"], {"a": (("decay", 3e-3, 100.0),)}
    monkeypatch.setitem(fault.__globals__, "FURTHER", further)
    assert fault("a", "decay", (3e-3, 1.0)) == ""
    assert fault("a", "decay", (3e-3, 10.0)) == fault("a", "decay", (3e-3, 100.0)) == ""
    edge = "at an edge that was not extended"
    for rate, strength in ((3e-3, 0.01), (1e-3, 1.0), (1e-2, 10.0)):
        assert fault("a", "decay", (rate, strength)) == edge
    assert fault("a", "none", (3e-3, 1e-1)) == edge
    assert fault("b", "decay", (3e-3, 10.0)) == edge
    assert fault("a", "decay", (2e-3, 1.0)) == "never tuned"
    assert fault("a", "decay", (3e-2, 1.0)) == "never tuned"
    monkeypatch.setitem(fault.__globals__, "CHOSEN", {"a": {"decay": (1e-3, 1.0)}})
    arm, _ = (one for one in DESIGN["testing"]() if "name" in one)
    assert arm["name"] == f"decay, rate 0.001, strength 1, {edge}"


AGAIN = runpy.run_path(f"{project.home()}/book/remedies/retune.py")
decide, Trial = AGAIN["decide"], AGAIN["Trial"]


def until_decided(remedy, task, onset):
    """The last decision, and all trials, where ``onset(point, seed)`` is what comes."""
    trials = {}
    while due := (last := decide(remedy, task, trials)).due:
        assert not last.chosen and not {*due} & {*trials}
        for point, seed in due:
            came = onset(point, seed)
            trials[point, seed] = Trial(came, 1.0 if came < float("inf") else 0.1)
    return last, trials


def test_the_second_rule_climbs_until_the_best_point_has_all_its_neighbours():
    best, grid = (0.1, 10.0), DESIGN["second_grid"]("decay")
    assert best not in grid and len(grid) == 10

    def onset(point, seed):
        rungs = [DESIGN["LADDER"].index(one) for one in (point[0], best[0])]
        steps = abs(math.log10(point[1] / best[1]))
        return 100 + 50 * (abs(rungs[0] - rungs[1]) + steps) + seed % 10

    last, trials = until_decided("decay", "a", onset)
    assert last.chosen == best
    tried = {point for point, _ in trials}
    assert {*DESIGN["neighbours"]("decay", best)} <= tried == {*grid, *last.asked}
    assert len({point for point, seed in trials if seed == 102}) < len(tried) / 2


def test_the_second_rule_chooses_by_three_seeds_and_looks_around_what_it_chose():
    first, grid = DESIGN["SECOND_TUNING"][0], DESIGN["second_grid"]("decay")
    lucky, sound = (0.015, 1.0), (0.04, 1.0)

    def onset(point, seed):
        if point == lucky:
            return 50 if seed == first else 900
        return {sound: 60}.get(
            point, 400 + 10 * grid.index(point) if point in grid else 900
        )

    last, trials = until_decided("decay", "a", onset)
    assert last.chosen == sound
    assert {*DESIGN["neighbours"]("decay", sound)} <= {point for point, _ in trials}


def test_the_second_rule_chooses_no_point_of_a_remedy_that_never_generalises():
    last, trials = until_decided("none", "e", lambda point, seed: float("inf"))
    assert last.chosen is None and {seed for _, seed in trials} == {100}
    assert 10 < len(trials) <= 14


def test_neighbours_are_a_factor_of_three_or_one_rate_away_and_inside_what_can_be():
    around = DESIGN["neighbours"]
    assert around("decay", (0.04, 1.0)) == [
        (0.015, 1.0), (0.1, 1.0), (0.04, 0.3), (0.04, 3.0)
    ]  # fmt: skip
    assert around("Muon", (0.25, 1.0)) == [(0.1, 1.0), (0.25, 0.3)]
    assert around("none", (0.0004, 0.3))[-1] == (0.0004, 1.0)


def test_caps_follow_the_rate_and_every_run_goes_on_after_its_onset():
    assert [DESIGN["cap"]("a", rate) for rate in (0.1, 0.015, 0.001)] == [
        500,
        1000,
        4000,
    ]
    for name in ("tune2-a", "tune2-e"):
        for arm in papers.get(f"remedies/{name}", "paper").arms:
            assert (arm.stop, arm.after_stop) == (0.99, 500)
            rate = float(arm.name.split(", ")[1].split()[1])
            assert arm.epochs == DESIGN["cap"](name[-1], rate) + 500


@pytest.mark.parametrize("task", DESIGN["CAPS"])
def test_what_the_second_tuning_wrote_is_what_its_rule_gives(task):
    trials, written = AGAIN["trials_of"](task), DESIGN["SECOND"]
    for remedy in DESIGN["START"]:
        chosen = written["chosen"].get(task, {}).get(remedy)
        if chosen or remedy in written["never"].get(task, ()):
            decision = decide(remedy, task, trials[remedy])
            asked = written["asked"].get(task, {}).get(remedy, [])
            assert list(map(tuple, asked)) == decision.asked, remedy
            assert decision.chosen == (tuple(chosen) if chosen else None), remedy
            assert decision.due == [], remedy
    assert not {*DESIGN["SECOND_TUNING"]} & {*DESIGN["SECOND_TESTS"]}


BITS = {torch.bfloat16: 8, torch.float32: 24, torch.float64: 53}  # significant


def pasted():
    """The function that the decision page gives away, as a reader pastes it."""
    source = notebooks.read_source(pages.find("remedies/use"))
    (code,) = (c.source for c in source.cells if "def diagnose(" in c.source)
    exec(code, namespace := {})
    return namespace["diagnose"]


@pytest.mark.parametrize("dtype", BITS)
@pytest.mark.parametrize("scale", [1, 80, 1e7])  # some losses are 0, or all
@pytest.mark.parametrize("loss", [cross_entropy, stablemax_cross_entropy])
def test_the_diagnosis_to_paste_gives_what_the_book_measures(dtype, scale, loss):
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 5))
    network.register_parameter("unused", nn.Parameter(torch.ones(3)))
    network[2].weight.data *= scale
    x = torch.randn(4, 50, 8, dtype=dtype)
    labels = network.to(dtype)(x).argmax(dim=-1)
    padded = labels.where(torch.arange(50) < 40, -100)
    found = pasted()(network, x, padded, loss)

    logits, params = network(x)[:, :40].flatten(0, 1), [*network.parameters()]
    losses = loss(logits, labels[:, :40].flatten(), reduction="none")
    grads = torch.autograd.grad(losses.mean(), params, materialize_grads=True)
    measured = [
        metrics.share(losses == 0),
        metrics.top_gap(logits),
        torch.tensor(math.log(2) * BITS[losses.dtype]),
        torch.linalg.vector_norm(logits.double(), dim=1).mean(),
        metrics.total_norm(params),
        metrics.joint_cosine(params, [-one for one in grads]),
    ]
    # a backward pass sums in another order each time
    expected = [float(one.detach()) for one in measured]
    assert [*found.values()] == pytest.approx(expected, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize(
    ("module", "function"),
    [(nn.CrossEntropyLoss, cross_entropy), (StableMaxLoss, stablemax_cross_entropy)],
)
def test_the_diagnosis_takes_the_module_of_a_loss_and_leaves_it_as_it_is(
    module, function
):
    torch.manual_seed(0)
    network, x, labels = nn.Linear(8, 5), torch.randn(20, 8), torch.arange(20) % 5
    loss = module(reduction="sum")
    found = pasted()(network, x, labels, loss)
    assert found == pasted()(network, x, labels, function)
    assert loss.reduction == "sum"
