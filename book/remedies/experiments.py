"""Remedies against late generalisation, side by side at one budget of tuning each.

It is of no paper. Twelve remedies, and none, meet six tasks, each with AdamW and decay 0 unless
it says otherwise. A remedy has a *strength* of its own: for ``decay`` the weight decay,
for ``coupled L2`` and the penalties of activations their factor, for ``radius with
tuned target`` the target in units of sqrt(width) at a factor of 5, for ``dropout`` the
share that is dropped, for ``first matrix held short`` the norm in units of PyTorch's
start, for ``Grokfast`` lamb at alpha 0.98. Those without one have the four betas of
``none``, as 1 - beta2. Neighbours are a factor of 10 apart: four span three decades, of
the square where a length is what is set, and of the odds where it is a share.

``tune-x``: 3 rates x 4 strengths with seed 100, the four best of these with seed 101.
Value of a point: the mean onset (test accuracy above ``LEVEL`` for good; the cap where
it never comes), ties by the mean last test accuracy. Where the best point lies at an
edge of the grid, in rate or in strength, the point one step further on joins it with
both seeds, once (``FURTHER``); at a corner there are two. ``test-x``: the best points
then (``CHOSEN``), seeds 0 to 4. A member is looked at a hundred times, and ends at a
test accuracy of 99 %.
"""

import math
from itertools import product
from pathlib import Path

from claimbook.experiment import Spec
from claimbook.papers import END, Registry, Row, Rows, Size, experiment, row, shared
from claimbook.project import read_yaml

# The four of the grid, and at both ends one step further.
RATES = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
BETAS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # 1 - beta2
STRENGTHS = {
    "none": BETAS,
    "decay": (0.001, 0.01, 0.1, 1.0, 10.0, 100.0),
    "coupled L2": (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2),
    "StableMax": BETAS,
    "collapse-free loss": BETAS,
    "⊥Grad": BETAS,
    "radius to √d": (0.0005, 0.005, 0.05, 0.5, 5.0, 50.0),
    "radius with tuned target": (0.01, 0.03, 0.1, 0.3, 1.0, 3.0),
    "activations": (0.005, 0.05, 0.5, 5.0, 50.0, 500.0),
    "dropout": (0.001, 0.01, 0.1, 0.5, 0.9, 0.99),
    "first matrix held short": (0.04, 0.125, 0.4, 1.25, 4.0, 12.5),
    "layer norm": BETAS,
    "Grokfast": (0.002, 0.02, 0.2, 2.0, 20.0, 200.0),
}
TUNING = (100, 101)  # seeds; those of the tests are others
LEVEL = {"a": 0.9, "b": 0.9, "c": 0.9, "d": 0.9, "e": 0.9, "f": 0.8}
# By task, what ``choose.py`` wrote of the tuning.
POINTS = read_yaml(Path(__file__).with_name("points.yaml"))
FURTHER = {task: [*map(tuple, found)] for task, found in POINTS["further"].items()}
CHOSEN = {
    task: {remedy: tuple(point) for remedy, point in found.items()}
    for task, found in POINTS["chosen"].items()
}

LOSSES = {"StableMax": Spec("stablemax_cross_entropy")}
LOSSES |= {"collapse-free loss": Spec("exact_cross_entropy")}
SOFTMAX = Spec("softmax_cross_entropy")
SEEN = ("core", "collapse", "logits", "norms", "radial")
EXPERIMENTS = Registry("remedies", (0, 1, 2, 3, 4), seed_count=Size(5, 5), loss=SOFTMAX)


def mlp(width: int, p: int = 0, **of: object) -> tuple[Spec, dict]:
    """Two hidden layers, with norm where asked; and what remedies must know of them."""
    size = {"classes": p, "vocabulary": p} if p else {}
    model = Spec("mlp", widths=(width, width), **size | of)
    about = {"width": width, "first": "layers.0.weight", "norm": (width / 3) ** 0.5}
    return model, about | {"normed": {"norm": "layer", "affine": False}}


SIZE = {"classes": 114, "vocabulary": 114, "width": 128, "hidden": (512,)}
NORMS = {"norms": ("query_key", "value", "mlp"), "final_norm": True, "affine": False}
TRANSFORMER = Spec("transformer", **SIZE, causal=True, positions=3)
ABOUT = {"width": 512, "first": "embedding", "norm": 114**0.5, "normed": NORMS}


def addition(p: int, fraction: float, **how: object) -> Spec:
    return Spec("modular", p=p, train_fraction=fraction, **how)


# G measures harm alone: letters, at a rate of 1e-3 and the strength chosen on A; the
# remedies without one have PyTorch's betas.
LETTERS = Spec("characters", block=64, train_blocks=4000, test_blocks=200)
READER = {"classes": 65, "vocabulary": 65, "width": 64, "hidden": (256,), "depth": 2}
READER |= {"heads": 4, "positions": 64, "causal": True, "read": "all"}
OF_LETTERS = {"width": 256, "first": "embedding", "norm": 65**0.5, "normed": NORMS}
PARITY = Spec("sparse_parity", samples=2000, relevant=3, noise=40, data_seed=42)
LARGE = {"only": "paper"}  # for a GPU
IMAGES = Spec("mnist", train_samples=1000)
# data, (network, what remedies must know of it), steps, what else is shared
TASKS = {
    "a": (addition(59, 0.6), mlp(128, 59), 1000, {}),
    "b": (addition(97, 0.6), mlp(128, 97), 3000, {}),
    "c": (addition(97, 0.5), mlp(512, 97), 15_000, LARGE),
    "d": (addition(113, 0.3, equals=True), (TRANSFORMER, ABOUT), 10_000, LARGE),
    "e": (PARITY, mlp(128, classes=2, features=43), 2500, {}),
    "f": (IMAGES, mlp(200, classes=10, features=784), 3000, {"init_scale": 8.0}),
    "g": (
        LETTERS,
        (Spec("transformer", **READER), OF_LETTERS),
        1000,
        {"batch_size": 32},
    ),
}


def arm(remedy: str, rate: float, strength: float, task: str) -> Row:
    """A remedy on a task at one point of its grid."""
    data, (model, about), steps, more = TASKS[task]
    optimizer, how = {"lr": rate}, {"loss": LOSSES.get(remedy, SOFTMAX)} | more
    if STRENGTHS[remedy] is BETAS:
        optimizer["betas"] = (0.9, round(1 - strength, 6))
    match remedy:
        case "decay":
            optimizer["weight_decay"] = strength
        case "coupled L2":
            how["penalties"] = (Spec("l2", strength=strength),)
        case "⊥Grad":
            how["wrappers"] = (Spec("orthogonal"),)
        case "radius to √d":
            how["penalties"] = (Spec("radius", strength=strength),)
        case "radius with tuned target":
            target = round(strength * about["width"] ** 0.5, 6)
            how["penalties"] = (Spec("radius", strength=5.0, target=target),)
        case "activations":
            how["penalties"] = (Spec("activations", strength=strength),)
        case "dropout":
            model = Spec(model.name, **model.options, dropout=strength)
        case "first matrix held short":
            norm = round(strength * about["norm"], 6)
            how["wrappers"] = (Spec("hold_norm", names=(about["first"],), norm=norm),)
        case "layer norm":
            model = Spec(model.name, **model.options, **about["normed"])
        case "Grokfast":
            how["wrappers"] = (Spec("grokfast", alpha=0.98, lamb=strength),)
    how |= {"dataset": data, "model": model, "epochs": steps, "log": steps // 100}
    how["optimizer"] = Spec("adamw", **optimizer)
    return row(named(remedy, rate, strength), **how)


def named(remedy: str, rate: float, strength: float) -> str:
    what = "1 - beta2" if STRENGTHS[remedy] is BETAS else "strength"
    return f"{remedy}, rate {rate:g}, {what} {strength:g}"


def outside(remedy: str, rate: float, strength: float) -> list[tuple[float, float]]:
    """The points one step outside the grid from one at its edge; from inside, none."""
    rungs = STRENGTHS[remedy]
    rates = {RATES[1]: RATES[0], RATES[-2]: RATES[-1]}
    strengths = {rungs[1]: rungs[0], rungs[-2]: rungs[-1]}
    found = [(rates[rate], strength)] if rate in rates else []
    return found + ([(rate, strengths[strength])] if strength in strengths else [])


def fault(task: str, remedy: str, point: tuple[float, float]) -> str:
    """Why a point must not be tested; "" for one that the rule may choose."""
    joined = [one[1:] for one in FURTHER.get(task, ()) if one[0] == remedy]
    grid = [*product(RATES[1:-1], STRENGTHS[remedy][1:-1])]
    if point not in [*grid, *joined]:
        return "never tuned"
    short = point in grid and not {*outside(remedy, *point)} <= {*joined}
    return "at an edge that was not extended" if short else ""


@EXPERIMENTS.section
def tuning() -> Rows:
    for task in LEVEL:
        yield experiment(f"tune-{task}", "", seeds=TUNING, stop=0.99)
        yield shared(observables=("core",), through_nan=True)
        for remedy, rungs in STRENGTHS.items():
            for point in product(RATES[1:-1], rungs[1:-1]):
                yield arm(remedy, *point, task)
        for point in FURTHER.get(task, ()):
            yield arm(*point, task)


@EXPERIMENTS.section
def testing() -> Rows:
    for task, best in CHOSEN.items():
        yield experiment(f"test-{task}", "", stop=0.99)
        yield shared(observables=SEEN, through_nan=True)
        for remedy, point in best.items():
            told = fault(task, remedy, point)
            one = arm(remedy, *point, task)
            yield one | ({"name": f"{one['name']}, {told}"} if told else {})
    yield experiment("test-g", "")
    yield shared(observables=("core",), through_nan=True)
    for remedy, (_, strength) in CHOSEN["a"].items():
        own = 1e-3 if STRENGTHS[remedy] is BETAS else strength  # PyTorch's beta2
        yield arm(remedy, RATES[1], own, "g") | {"log": 100}


@EXPERIMENTS.section
def pairs() -> Rows:
    """On A, beside decay: the best three at their points, two that fail alone at its."""
    yield experiment("beside-a", "", stop=0.99)
    yield shared(observables=SEEN, through_nan=True)
    rate, decay = CHOSEN["a"]["decay"]
    first = "⊥Grad", "radius with tuned target", "activations"
    points = {remedy: CHOSEN["a"][remedy] for remedy in first}
    points |= {"Grokfast": (rate, 2.0), "layer norm": (rate, 1e-3)}  # untuned
    for remedy, point in points.items():
        one = arm(remedy, *point, "a")
        both = Spec("adamw", **one["optimizer"].options | {"weight_decay": decay})
        yield one | {"name": f"{remedy} and decay", "optimizer": both}


# Rates of the sweep of ⊥Grad on A with their steps: 15 over the rate, 500 to 4,000.
STEPS_AT = {0.001: 4000, 0.003: 4000, 0.005: 3000, 0.01: 1500, 0.02: 800}
STEPS_AT |= {0.03: 500, 0.05: 500, 0.1: 500}


@EXPERIMENTS.section
def orthogonal_rates() -> Rows:
    """⊥Grad on A over its rate and a decay; it goes on after it has generalised."""
    yield experiment("rates-a", "decay 0 and 0.1 of five decays")
    data, (model, _), _, _ = TASKS["a"]
    yield shared(dataset=data, model=model, wrappers=(Spec("orthogonal"),))
    yield shared(observables=SEEN, through_nan=True)
    for rate, steps in STEPS_AT.items():
        yield shared(epochs=steps, log=10 if steps <= 1000 else 20)
        for decay in (0.0, 0.03, 0.1, 0.3, 1.0):
            rule = Spec("adamw", lr=rate, betas=(0.9, 0.999), weight_decay=decay)
            only = {} if decay in (0, 0.1) else LARGE
            yield row(f"rate {rate:g}, decay {decay:g}", optimizer=rule, **only)


@EXPERIMENTS.section
def mediation() -> Rows:
    """On A: plain softmax and no decay, with matrices held at a winner's norms."""
    yield experiment("why", "", stop=0.99)
    data, (model, _), steps, _ = TASKS["a"]
    yield shared(dataset=data, model=model, epochs=steps, log=steps // 100)
    yield shared(observables=SEEN, through_nan=True)
    # The medians at the onset of the five test seeds, by matrix.
    for rate, of, norms in (
        (0.03, "decay", (35, 23, 17)),
        (0.003, "pull", (4, 40, 78)),
    ):
        each = [
            Spec("hold_norm", names=(f"layers.{k}.weight",), norm=float(norm))
            for k, norm in enumerate(norms)
        ]
        some = {"every matrix": each, "first": each[:1], "second": each[1:2]}
        some |= {"third": each[2:], "second and third": each[1:], "none": []}
        for what, held in some.items():
            name = f"norms of {of}, {what}"
            yield row(name, optimizer=Spec("adamw", lr=rate), wrappers=tuple(held))


# By task, by winner: rate, 1 - beta2, the norms of its three matrices and of a sample's
# logits at its onset, medians over the five test seeds.
NORMS = {
    "a": {
        "decay": (0.03, 1e-3, (35, 23, 17), 30),
        "⊥Grad": (0.03, 1e-3, (31, 21, 15), 28),
    },
    "b": {
        "decay": (0.03, 1e-3, (51, 24, 21), 41),
        "⊥Grad": (0.03, 1e-3, (38, 19, 20), 40),
        "activations": (0.03, 1e-3, (14, 45, 146), 54),
    },
    "e": {
        "coupled L2": (0.01, 1e-3, (5.5, 4.6, 4.5), 4.2),
        "⊥Grad": (0.01, 1e-2, (8.2, 14, 1.6), 6.3),
    },
}


@EXPERIMENTS.section
def mediators() -> Rows:
    """The same on three tasks, with their total norm and the logits' held as well."""
    for task, winners in NORMS.items():
        yield experiment(f"why-{task}", "", stop=0.99)
        data, (model, _), steps, _ = TASKS[task]
        yield shared(dataset=data, model=model, epochs=steps, log=steps // 100)
        yield shared(observables=SEEN, through_nan=True)
        names = tuple(f"layers.{k}.weight" for k in range(3))
        for winner, (rate, fresh, norms, logits) in winners.items():
            optimizer = Spec("adamw", lr=rate, betas=(0.9, 1 - fresh))
            each = [
                Spec("hold_norm", names=(name,), norm=float(norm))
                for name, norm in zip(names, norms, strict=True)
            ]
            total = round(sum(norm**2 for norm in norms) ** 0.5, 1)
            whole = [Spec("hold_norm", names=names, norm=total, total=True)]
            some = {"every matrix": each, "first": each[:1], "second": each[1:2]}
            some |= {"third": each[2:], "total": whole, "none": []}
            if (task, winner) == ("a", "decay"):  # the others stand in ``why``
                some = {"total": whole}
            for what, held in some.items():
                name = f"norms of {winner}, {what}"
                yield row(name, optimizer=optimizer, wrappers=tuple(held))
            loss = Spec("rescaled_cross_entropy", norm=float(logits))
            yield row(f"norms of {winner}, logits", optimizer=optimizer, loss=loss)


# Norm or angle: a task, the remedy whose norms are held, and its recorded norms by look.
HELD_AT = {"a": "decay", "e": "coupled L2"}
RECORDED = read_yaml(Path(__file__).with_name("norms.yaml"))
MATRICES = tuple(f"layers.{k}.weight" for k in range(3))
OF_TRANSFORMER = ("embedding", "position", "unembedding.weight") + tuple(
    f"blocks.0.{part}.weight"
    for part in (
        "attention.query",
        "attention.key",
        "attention.value",
        "attention.output",
        "mlp.0",
        "mlp.1",
    )
)


def held_at(norms: tuple[float, ...]) -> tuple[Spec, ...]:
    """A hook for each matrix that holds it at its norm from the first step on."""
    return tuple(
        Spec("hold_norm", names=(name,), norm=float(norm))
        for name, norm in zip(MATRICES, norms, strict=True)
    )


@EXPERIMENTS.section
def norm_or_angle() -> Rows:
    """Is it a remedy's norms, or what they make of a step and of the logits?

    A held norm also fixes the angle of a step, about the rate over the norm, and the
    scale of the logits: three layers of twice the norm give logits 8 times as large,
    biases apart. Here each of the three is changed while the others stay.
    """
    for task, winner in HELD_AT.items():
        yield experiment(f"angle-{task}", "", stop=0.99, after_stop=500)
        data, (model, _), cap, _ = TASKS[task]
        rate, _, norms, _ = NORMS[task][winner]

        def at(factor: float, rate: float = rate, cap: int = cap) -> Row:
            """The rate times a factor, with as many more steps where it is smaller."""
            steps = round(cap / min(factor, 1.0))
            rule = Spec("adamw", lr=round(factor * rate, 6), betas=(0.9, 0.999))
            return {"optimizer": rule, "epochs": steps, "log": steps // 100}

        yield shared(dataset=data, model=model, observables=SEEN, through_nan=True)
        yield shared(**at(1))
        held = held_at(norms)
        twice, half = (held_at(tuple(f * norm for norm in norms)) for f in (2, 0.5))
        yield row("held", wrappers=held)
        for factor in (0.25, 0.5, 2.0, 4.0):
            yield row(f"held, rate times {factor:g}", wrappers=held, **at(factor))
        turned = tuple(
            Spec("steps_by_norm", names=(name,), norm=float(norm))
            for name, norm in zip(MATRICES, norms, strict=True)
        )
        yield row("free, angle of the held run", wrappers=turned)
        yield row("free, rate times 2", **at(2))
        yield row("free, rate times 0.5", **at(0.5))
        curves = tuple(map(tuple, RECORDED[task]["norms"]))
        how = {"names": MATRICES, "norms": curves, "every": RECORDED[task]["every"]}
        yield row("norms replayed", wrappers=(Spec("replay_norm", **how),))
        yield row("held at twice the norms", wrappers=twice)
        yield row("held at half the norms", wrappers=half)
        yield row("held, logits times 8", wrappers=held, alpha=8.0)
        yield row("held, logits over 8", wrappers=held, alpha=0.125)
        yield row("twice the norms, logits over 8", wrappers=twice, alpha=0.125)
        yield row("half the norms, logits times 8", wrappers=half, alpha=8.0)
        yield row("free, logits over 8", alpha=0.125)


# The second tuning, beside the first, whose points and results stay. What it asks for
# beyond its grid, and what it chose, ``retune.py`` writes to ``points2.yaml``.
SECOND = read_yaml(Path(__file__).with_name("points2.yaml"))
SECOND_TUNING, SECOND_TESTS = (100, 101, 102), (5, 6, 7, 8, 9)  # seeds
SECOND_RATES = (0.001, 0.0025, 0.006, 0.015, 0.04, 0.1)
LADDER = (0.0004, *SECOND_RATES, 0.25)  # with one more at both ends, for the edge rule
SIDES = (0.006, 0.04)  # rates at which the neighbours of the first strength are tried
# By task: steps times the rate, the least and the most of them; and what follows 99 %.
CAPS = {"a": (15, 500, 4000), "b": (15, 500, 3000), "e": (25, 500, 4000)}
CAPS["d"] = (20, 500, 4000)
AFTER = 500
# Strengths to begin with, about those that the first tuning chose. Dropout's are odds.
START = {
    "none": 0.001,
    "decay": 1.0,
    "coupled L2": 3e-4,
    "StableMax": 0.01,
    "collapse-free loss": 0.01,
    "⊥Grad": 0.001,
    "radius to √d": 1.0,
    "radius with tuned target": 0.03,
    "activations": 10.0,
    "dropout": 0.3,
    "first matrix held short": 0.1,
    "layer norm": 0.01,
    "Grokfast": 10.0,
    "Grokfast as published": 0.003,
    "Muon": 0.03,
    "row norms clipped": 3.0,
}
# The four that were earliest in the second tuning of addition modulo 97: a transformer
# is tuned for them and for no remedy, a wider MLP takes them as they were tuned there.
CARRIED_STEPS = 1500
EARLIEST = ("⊥Grad", "Grokfast as published", "decay", "row norms clipped")
OF_TASK = dict.fromkeys(CAPS, tuple(START)) | {"d": ("none", *EARLIEST)}
Point = tuple[float, float]  # rate, strength


def cap(task: str, rate: float) -> int:
    """Steps within which a remedy has to generalise: more of them at a small rate."""
    steps_times_rate, least, most = CAPS[task]
    return min(max(round(steps_times_rate / rate), least), most)


def next_strength(strength: float, rungs: int) -> float:
    """So many half decades up or down: 0.3, 1, 3, 10."""
    place = round(2 * math.log10(strength)) + rungs
    return float(f"{10 ** (place / 2):.1g}")


def second_grid(remedy: str) -> list[Point]:
    """The ten points of a remedy with which the second tuning begins."""
    start = START[remedy]
    beside = (next_strength(start, -1), next_strength(start, 1))
    return [*product(SECOND_RATES, [start]), *product(SIDES, beside)]


def neighbours(remedy: str, point: Point) -> list[Point]:
    """Up to four points one rate or one strength away; 1 - beta is at most 1."""
    rate, strength = point
    place = LADDER.index(rate)
    rates = [LADDER[at] for at in (place - 1, place + 1) if 0 <= at < len(LADDER)]
    strengths = [next_strength(strength, rungs) for rungs in (-1, 1)]
    if remedy == "Muon" or STRENGTHS.get(remedy) is BETAS:
        strengths = [one for one in strengths if one <= 1]
    return [*product(rates, [strength]), *product([rate], strengths)]


def second_name(remedy: str, rate: float, strength: float) -> str:
    return f"{remedy}, rate {rate:g}, strength {strength:g}"


def second_arm(remedy: str, rate: float, strength: float, task: str) -> Row:
    """A remedy on a task at a point of the second tuning.

    Three are new: Muon, with a strength of 1 - momentum; a clip of each row of every
    matrix, whose strength is the norm; and Grokfast's moving average at its authors'
    alpha, lamb and beta2, whose strength is the coupled L2 that they add.
    """
    if remedy == "dropout":
        one = arm(remedy, rate, round(strength / (1 + strength), 6), task)
    elif remedy in STRENGTHS:
        one = arm(remedy, rate, strength, task)
    else:
        one = arm("none", rate, 0.001, task)
    one.pop("only", None)  # short enough for a CPU on every task
    if remedy == "Muon":
        one["optimizer"] = Spec("muon", lr=rate, momentum=round(1 - strength, 6))
    if remedy == "row norms clipped":
        names = OF_TRANSFORMER if task == "d" else MATRICES
        one["wrappers"] = (Spec("clip_rows", names=names, norm=strength),)
    if remedy == "Grokfast as published":
        one["optimizer"] = Spec("adamw", lr=rate, betas=(0.9, 0.98))
        one["wrappers"] = (Spec("grokfast", alpha=0.98, lamb=2.0),)
        one["penalties"] = (Spec("l2", strength=strength),)
    steps = cap(task, rate) + AFTER
    looks = ((300, 10), (END, max(10, steps // 100)))
    name = second_name(remedy, rate, strength)
    return one | {"name": name, "epochs": steps, "log": looks}


def begin_tests(name: str) -> Rows:
    """Begin an experiment of fresh seeds, logged often and trained on beyond 99 %."""
    yield experiment(name, "", seeds=SECOND_TESTS)
    yield shared(stop=0.99, after_stop=AFTER, observables=SEEN, through_nan=True)
    yield shared(log=((200, 2), (600, 5), (END, 20)))


@EXPERIMENTS.section
def second_tuning() -> Rows:
    """Fifteen remedies, and none, by the rule of ``retune.py``, and the best on fresh seeds."""
    for task in CAPS:
        yield experiment(f"tune2-{task}", "", seeds=SECOND_TUNING)
        yield shared(
            stop=0.99, after_stop=AFTER, observables=("core",), through_nan=True
        )
        for remedy in OF_TASK[task]:
            asked = map(tuple, SECOND["asked"].get(task, {}).get(remedy, ()))
            for point in dict.fromkeys([*second_grid(remedy), *asked]):
                yield second_arm(remedy, *point, task)
        chosen = SECOND["chosen"].get(task, {})
        if not chosen:
            continue
        yield from begin_tests(f"test2-{task}")
        for remedy, point in chosen.items():
            one = second_arm(remedy, *point, task)
            del one["log"]  # the tests are looked at more often
            yield one


@EXPERIMENTS.section
def carried_over() -> Rows:
    """At width 512, with half of the pairs, at the points chosen at width 128."""
    yield from begin_tests("carried-c")
    for remedy in EARLIEST:
        one = second_arm(remedy, *SECOND["chosen"]["b"][remedy], "b")
        data, (model, _), _, _ = TASKS["c"]
        one |= {"dataset": data, "model": model, "epochs": CARRIED_STEPS}
        del one["log"]
        yield one

    # is it the rate? the two whose strength is not that of a published method
    yield from begin_tests("slower-c")
    for remedy in ("⊥Grad", "decay"):
        strength = SECOND["chosen"]["b"][remedy][1]
        one = second_arm(remedy, 0.01, strength, "b")
        one |= {"dataset": data, "model": model, "epochs": CARRIED_STEPS}
        del one["log"]
        yield one

    # is it the width or the share of the pairs? one of the two changed
    yield from begin_tests("apart-c")
    for width, fraction in ((128, 0.5), (512, 0.6)):
        one = second_arm("⊥Grad", *SECOND["chosen"]["b"]["⊥Grad"], "b")
        one["name"] = f"⊥Grad, width {width}, {fraction:.0%} of the pairs"
        one |= {"dataset": addition(97, fraction), "model": mlp(width, 97)[0]}
        one["epochs"] = CARRIED_STEPS
        del one["log"]
        yield one
