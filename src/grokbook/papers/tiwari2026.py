"""Experiments of Tiwari, Chauhan and Singh 2026, "Radial Suppression Accelerates ...".

There is no official code. Settings are those of the paper's appendix F; what it leaves
open is read in the most common way, and ``readings`` trains the others. An epoch is one
step on the whole training set unless ``batch_size`` says otherwise. A member ends early
at a test accuracy of 99.9 %.
"""

from collections.abc import Iterator
from itertools import product

from grokbook.experiment import Arm, Spec
from grokbook.papers.registry import Registry, by_scale

EXPERIMENTS = Registry("tiwari2026", seeds=(42, *range(9)))

SOFTMAX, STABLEMAX, EXACT = (
    Spec(f"{name}_cross_entropy") for name in ("softmax", "stablemax", "exact")
)
WEAK, STRONG = 1e-3, 1e-1  # weight decays of the baseline and of "Strong WD"
STRENGTH = 0.05  # lambda
WIDTH = 512
PAPER = {
    "dataset": "modular addition",
    "dataset.p": "97",
    "dataset.train_fraction": "0.5 (4,656 of 9,409 pairs)",
    "model": "MLP, ReLU",
    "model.widths": "(512, 512)",
    "loss": "cross-entropy",
    "optimizer": "AdamW",
    "optimizer.lr": "0.001",
    "optimizer.weight_decay": "0.001; strong: 0.1",
    "penalties": "λ = 0.05, both pre-activations",
    "batch size": "256 (full-batch)",
    "epochs (full batch)": "100,000",
    "seeds": "5, not named",
}
"""What appendix F says of the MLP, by the names of ``tables.settings``."""

LOOK = ("core", "logits", "norms", "radial")
SELDOM = ("ranks", "periodic", "exact_trace")
SHORTER = "width 128 of 512, 60 % of the pairs, {} of 100,000 epochs, {}"


def adamw(lr: float = 1e-3, decay: float = WEAK, **rest) -> Spec:
    return Spec("adamw", lr=lr, weight_decay=decay, **rest)


def penalty(strength: float = STRENGTH, **how) -> tuple[Spec, ...]:
    """Eq. 1 and 2: both hidden pre-activations, added up, towards sqrt(width)."""
    return (Spec("radius", strength=strength, **how),)


def width(scale: str) -> int:
    return by_scale(scale, WIDTH, 128, 8)


def addition(scale: str, p: int = 97, fraction: float = 0.5) -> Spec:
    return Spec("modular", p=by_scale(scale, p, p, 7), train_fraction=fraction)


def mlp(scale: str, p: int = 97, *, layers: int = 2, **options) -> Spec:
    p = by_scale(scale, p, p, 7)
    widths = (width(scale),) * layers
    return Spec("mlp", classes=p, vocabulary=p, widths=widths, **options)


def run(
    scale: str,
    name: str,
    *,
    p: int = 97,
    fraction: float | None = None,
    model: Spec | None = None,
    loss: Spec = SOFTMAX,
    optimizer: Spec | None = None,
    penalties: tuple[Spec, ...] = (),
    epochs: int = 20_000,
    **rest,
) -> Arm:
    """One run of the MLP on modular addition, as appendix F has it.

    On a laptop 60 % of the pairs train, not 50 %: there all arms grok sooner.
    """
    fraction = fraction or by_scale(scale, 0.5, 0.6, 0.5)
    epochs = by_scale(scale, epochs, epochs, 12)
    looks = {"log": by_scale(scale, 100, 100, 4)}
    return Arm(
        name,
        rest.pop("dataset", addition(scale, p, fraction)),
        model or mlp(scale, p),
        loss,
        optimizer or adamw(),
        epochs=epochs,
        penalties=penalties,
        stop=0.999,
        **({"observables": LOOK, "rarely": (epochs, SELDOM)} | looks | rest),
    )


# The MLP -----------------------------------------------------------------------------


@EXPERIMENTS.experiment(
    reduced=SHORTER.format("15,000", "three seeds of five"),
    laptop_seeds=3,
    paper_seeds=5,
)
def fig01(scale: str) -> Iterator[Arm]:
    """Penalty, strong decay and baseline; also Figures 3 to 5, Tables 1 and 2."""
    epochs = by_scale(scale, 100_000, 15_000, 12)
    seldom = by_scale(scale, 1000, 1000, 4)
    how = {"epochs": epochs, "rarely": (seldom, SELDOM), "keep": (epochs,)}
    yield run(scale, "penalty", penalties=penalty(), **how)
    yield run(scale, "strong decay", optimizer=adamw(decay=STRONG), **how)
    yield run(scale, "baseline", **how)


@EXPERIMENTS.experiment(
    reduced=SHORTER.format("12,000", "three seeds of five"),
    laptop_seeds=3,
    paper_seeds=5,
)
def tab02(scale: str) -> Iterator[Arm]:
    """Dropout, whose rate is not given, and MAN, whose strength is not; Table 4."""
    how = {"epochs": by_scale(scale, 100_000, 12_000, 12)}
    for rate in (0.1, 0.2, 0.5):
        yield run(scale, f"dropout {rate:g}", model=mlp(scale, dropout=rate), **how)
    for strength in (0.01, STRENGTH):
        man = (Spec("activations", strength=strength),)
        yield run(scale, f"MAN {strength:g}", penalties=man, **how)
    for norm, name in (("layer", "layer norm"), ("rms", "RMS norm")):
        # the exact trace is that of a network without norms
        yield run(
            scale,
            name,
            model=mlp(scale, norm=norm, affine=False),
            rarely=(how["epochs"], ("ranks", "periodic", "curvature")),
            **how,
        )


@EXPERIMENTS.experiment(
    reduced="width 128 of 512, 12,000 of 50,000 epochs, p = 97 alone, one seed",
    paper_seeds=5,
)
def tab06(scale: str) -> Iterator[Arm]:
    """Modulus and data fraction."""
    moduli = by_scale(scale, (97, 137, 211), (97,), (7,))
    for p, fraction in product(moduli, (0.6, 0.5, 0.4, 0.3)):
        how = {
            "p": p,
            "fraction": fraction,
            "epochs": by_scale(scale, 50_000, 12_000, 12),
            "observables": ("core",),
            "rarely": None,
        }
        cell = f"p = {p}, f = {fraction:g}"
        yield run(scale, f"penalty, {cell}", penalties=penalty(), **how)
        strong = adamw(decay=STRONG)
        yield run(scale, f"strong decay, {cell}", optimizer=strong, **how)


@EXPERIMENTS.experiment(
    reduced=SHORTER.format("12,000", "one seed of five"), paper_seeds=5
)
def tab07(scale: str) -> Iterator[Arm]:
    """Strength of the penalty; 0.05 is in fig01. Also Figure 2."""
    for strength in (0.001, 0.01, 0.1, 0.5, 1.0):
        how = {"epochs": by_scale(scale, 100_000, 12_000, 12), "rarely": None}
        yield run(scale, f"λ {strength:g}", penalties=penalty(strength), **how)


@EXPERIMENTS.experiment(
    reduced=SHORTER.format("6,000", "three seeds of five"),
    laptop_seeds=3,
    paper_seeds=5,
)
def tab08(scale: str) -> Iterator[Arm]:
    """500 probes of the trace at the end of a run with the penalty."""
    epochs = by_scale(scale, 20_000, 6000, 12)
    seldom = (epochs, ("exact_trace", "probes"))
    yield run(scale, "penalty", penalties=penalty(), epochs=epochs, rarely=seldom)


@EXPERIMENTS.experiment(
    reduced=SHORTER.format("12,000", "three seeds of five"),
    laptop_seeds=3,
    paper_seeds=5,
)
def texts(scale: str) -> Iterator[Arm]:
    """Appendix E.2: target radius, site, optimiser; a quarter of the target is ours."""
    how = {"epochs": by_scale(scale, 100_000, 12_000, 12), "rarely": None}
    root = width(scale) ** 0.5
    for factor in (0.25, 0.5, 2):
        radius = penalty(target=factor * root)
        yield run(scale, f"radius {factor:g} √d", penalties=radius, **how)
    yield run(scale, "after ReLU", penalties=penalty(site="hidden"), **how)
    no_decay = adamw(decay=0.0)
    yield run(scale, "Adam, penalty", optimizer=no_decay, penalties=penalty(), **how)
    yield run(scale, "Adam", optimizer=no_decay, **how)
    sgd = Spec("sgd", lr=0.1, momentum=0.9, weight_decay=WEAK)
    yield run(scale, "SGD, penalty", optimizer=sgd, penalties=penalty(), **how)
    yield run(scale, "SGD", optimizer=sgd, **how)


# The search --------------------------------------------------------------------------


@EXPERIMENTS.experiment(
    reduced="width 128 of 512, 8,000 or 12,000 epochs, one seed of five", paper_seeds=5
)
def readings(scale: str) -> Iterator[Arm]:
    """What the paper leaves open, read otherwise, at the cheapest cell: f = 0.6.

    The paper's onsets there are 1,320 (penalty) and 9,000 (strong decay).
    """
    how = {"fraction": 0.6, "rarely": None, "observables": ("core", "norms", "radial")}
    short, long = ({"epochs": epochs} | how for epochs in (8000, 12_000))
    strong = adamw(decay=STRONG)
    both: dict[str, dict] = {
        "literal": {},
        "embedding": {"model": mlp(scale, embedding=width(scale) // 4)},
        "no bias": {"model": mlp(scale, bias=False)},
        "He start": {"model": mlp(scale, initialisation="he")},
        "unit start": {"model": mlp(scale, initialisation="unit")},
        "one hidden layer": {"model": mlp(scale, layers=1)},
    }
    for name, options in both.items():
        yield run(scale, f"penalty, {name}", penalties=penalty(), **short, **options)
    for name, charged in {
        "after ReLU": penalty(site="hidden"),
        "mean of layers": penalty(average=True),
    }.items():
        yield run(scale, f"penalty, {name}", penalties=charged, **short)
    for decay in (0.0, STRONG, 1.0):
        yield run(
            scale,
            f"penalty, decay {decay:g} beside",
            optimizer=adamw(decay=decay),
            penalties=penalty(),
            **short,
        )
    few = {"batch_size": by_scale(scale, 256, 256, 8)}
    # 22 batches of 256 from 5,645 pairs are an epoch of the paper's
    few |= {"epochs": by_scale(scale, 2 * 22 * 1320, 22 * 500, 12)} | how
    yield run(scale, "penalty, batches of 256", penalties=penalty(), **few)
    yield run(scale, "strong decay, batches of 256", optimizer=strong, **few)
    for name, options in both.items():
        yield run(scale, f"strong decay, {name}", optimizer=strong, **long, **options)


@EXPERIMENTS.experiment(
    reduced="width 128 of 512, three seeds of five", laptop_seeds=3, paper_seeds=5
)
def fractions(scale: str) -> Iterator[Arm]:
    """The row of Table 6 for p = 97 with a weight decay of 1, and without penalty."""
    for fraction in (0.6, 0.5, 0.4):
        how = {
            "fraction": fraction,
            "epochs": by_scale(scale, 12_000, 12_000, 12),
            "optimizer": adamw(decay=1.0),
            "observables": ("core", "norms", "radial"),
            "rarely": None,
        }
        told = f"decay 1, f = {fraction:g}"
        yield run(scale, f"penalty, {told}", penalties=penalty(), **how)
        yield run(scale, f"no penalty, {told}", **how)


# Transformers ------------------------------------------------------------------------


def small(scale: str, norm: str | None) -> Spec:
    """Two blocks; sequence a, b, =; what the paper leaves open as in Nanda et al."""
    p = by_scale(scale, 97, 97, 7)
    size = by_scale(scale, 128, 64, 8)
    normed = {"norms": ("query_key", "value", "mlp"), "final_norm": True}
    return Spec(
        "transformer",
        classes=p,
        vocabulary=p + 1,
        positions=3,
        depth=2,
        width=size,
        heads=4,
        hidden=(4 * size,),
        bias=True,
        **(normed | {"affine": norm == "affine"} if norm else {}),
    )


INCREMENTS = ("attention_out", "mlp_out")


def increments(strength: float = STRENGTH) -> tuple[Spec, ...]:
    """Eq. 3: what each half of a block adds to the stream."""
    return tuple(Spec("radius", strength=strength, site=site) for site in INCREMENTS)


@EXPERIMENTS.experiment(
    reduced="width 64 of 128, 70 % of the pairs, 5,000 steps of 256 pairs for 100,000 "
    "of all, three seeds of five",
    laptop_seeds=3,
    paper_seeds=5,
)
def tab09(scale: str) -> Iterator[Arm]:
    """Layer norm and penalty in a transformer; also Table 3."""
    epochs = by_scale(scale, 100_000, 5000, 12)
    fraction = by_scale(scale, 0.5, 0.7, 0.5)
    seldom = by_scale(
        scale, (epochs, ("ranks",)), (500, ("ranks", "radial")), (epochs, ("ranks",))
    )
    settings = {None: "no norm", "plain": "norm", "affine": "affine norm"}
    data = Spec(
        "modular", p=by_scale(scale, 97, 97, 7), train_fraction=fraction, equals=True
    )
    for norm, name in settings.items():
        for charged, told in ((), ""), (increments(), ", penalty"):
            yield run(
                scale,
                name + told,
                model=small(scale, norm),
                penalties=charged,
                epochs=epochs,
                batch_size=by_scale(scale, None, 256, None),
                observables=by_scale(scale, LOOK, LOOK[:-1], LOOK),
                rarely=seldom,
                dataset=data,
            )


@EXPERIMENTS.experiment(
    reduced="two-digit sums, 400 to train on and 1,600 to test; depth 2 of 6, width 64 "
    "of 384, 2,000 of 30,000 steps, three seeds",
    laptop_seeds=3,
    paper_seeds=3,
)
def tab03(scale: str) -> Iterator[Arm]:
    """Addition of numbers, figure by figure; sizes of Lee et al. 2023."""
    figures, pairs = by_scale(scale, (3, 10_000), (2, 2000), (1, 20))
    size, depth, heads = by_scale(scale, (384, 6, 6), (64, 2, 4), (8, 1, 2))
    steps = by_scale(scale, 30_000, 2000, 12)
    # with 600 two-digit sums there is no delay, with 300 no generalisation
    fraction = by_scale(scale, 0.8, 0.2, 0.8)
    seldom = (by_scale(scale, steps, 500, 4), ("radial",))
    model = Spec(
        "transformer",
        classes=13,
        vocabulary=13,
        positions=3 * figures + 3,
        depth=depth,
        width=size,
        heads=heads,
        hidden=(4 * size,),
        norms=("query_key", "value", "mlp"),
        final_norm=True,
        causal=True,
        bias=True,
        activation="gelu_tanh",
        read=figures + 1,
        initialisation="gpt2",
    )
    for name, charged in (("baseline", ()), ("penalty", increments(0.01))):
        yield run(
            scale,
            name,
            dataset=Spec(
                "additions", digits=figures, pairs=pairs, train_fraction=fraction
            ),
            model=model,
            optimizer=Spec("adamw", lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1),
            schedule=Spec("cosine", warmup=by_scale(scale, 100, 100, 2)),
            penalties=charged,
            batch_size=by_scale(scale, 128, 128, 4),
            epochs=steps,
            observables=("core", "exact_match"),
            rarely=by_scale(scale, None, seldom, seldom),
        )


@EXPERIMENTS.experiment(
    reduced="depth 2 of 4, width 64 of 128, windows of 64 of 256 characters, 256,000 "
    "of a million of them, 1,000 of 5,000 steps, three seeds of five",
    laptop_seeds=3,
    paper_seeds=5,
)
def tab10(scale: str) -> Iterator[Arm]:
    """Characters of Shakespeare, where nothing is to be gained."""
    block, blocks, tests = by_scale(
        scale, (256, None, None), (64, 4000, 200), (8, 4, 2)
    )
    size, depth = by_scale(scale, (128, 4), (64, 2), (8, 1))
    steps = by_scale(scale, 5000, 1000, 12)
    seldom = (steps, ("ranks", "radial"))  # too many rows for them at paper scale
    model = Spec(
        "transformer",
        classes=65,
        vocabulary=65,
        positions=block,
        depth=depth,
        width=size,
        heads=by_scale(scale, 4, 4, 2),
        hidden=(2 * size,),
        norms=("query_key", "value", "mlp"),
        final_norm=True,
        causal=True,
        bias=True,
        activation="gelu_tanh",
        read="all",
        initialisation="gpt2",
    )
    for strength in (0.0, 0.01, STRENGTH):
        yield run(
            scale,
            f"λ {strength:g}" if strength else "baseline",
            dataset=Spec(
                "characters", block=block, train_blocks=blocks, test_blocks=tests
            ),
            model=model,
            penalties=increments(strength) if strength else (),
            batch_size=by_scale(scale, 64, 32, 2),
            epochs=steps,
            eval_batch=by_scale(scale, 64, None, None),
            observables=("core",),
            rarely=by_scale(scale, None, seldom, seldom),
        )


# Beyond the paper --------------------------------------------------------------------


@EXPERIMENTS.experiment(
    reduced="width 128 of 512, 8,000 of 20,000 epochs, three seeds of five",
    laptop_seeds=3,
    paper_seeds=5,
)
def remedies(scale: str) -> Iterator[Arm]:
    """Without any decay: is the penalty a way out of softmax collapse?"""
    how = {"optimizer": adamw(decay=0.0), "fraction": 0.6, "rarely": None} | {
        "epochs": by_scale(scale, 20_000, 8000, 12),
        "observables": ("core", "collapse", "logits", "norms", "radial"),
    }
    for name, loss in (
        ("softmax", SOFTMAX),
        ("StableMax", STABLEMAX),
        ("exact", EXACT),
    ):
        yield run(scale, name, loss=loss, **how)
        yield run(scale, f"{name}, penalty", loss=loss, penalties=penalty(), **how)
    yield run(scale, "⊥Grad", wrappers=(Spec("orthogonal"),), **how)
    yield run(
        scale,
        "⊥Grad, penalty",
        wrappers=(Spec("orthogonal"),),
        penalties=penalty(),
        **how,
    )


@EXPERIMENTS.experiment(
    reduced="width 128 of 512, 6,000 of 20,000 epochs, three seeds",
    laptop_seeds=3,
    paper_seeds=3,
)
def tuned(scale: str) -> Iterator[Arm]:
    """Learning rate and decay of both, so that each may be at its best; f = 0.6."""
    how = {
        "fraction": 0.6,
        "rarely": None,
        "observables": ("core",),
        "epochs": by_scale(scale, 20_000, 6000, 12),
    }
    for lr, decay in product((1e-3, 3e-3), (0.1, 0.3, 1.0, 3.0)):
        chosen = adamw(lr, decay)
        for name, charged in (("decay", ()), ("penalty", penalty())):
            told = f"{name}, rate {lr:g}, decay {decay:g}"
            yield run(scale, told, optimizer=chosen, penalties=charged, **how)


@EXPERIMENTS.experiment(
    reduced="width 128 of 512, five seeds", laptop_seeds=5, paper_seeds=5
)
def suppression(scale: str) -> Iterator[Arm]:
    """The activation penalty at strengths that the paper does not try, and targets.

    Cap of 4,000 epochs. Beside it the first matrix held at a constant norm, without
    penalty or decay: a pilot has this for what a strong penalty acts through.
    """
    how = {
        "rarely": None,
        "epochs": by_scale(scale, 4000, 4000, 12),
        "observables": ("core", "collapse", "logits", "norms", "radial"),
        "log": by_scale(scale, 50, 50, 4),
    }

    def charged(strength: float, fraction: float, decay: float = WEAK) -> Arm:
        told = f"strength {strength:g}, decay {decay:g}, f = {fraction:g}"
        penalties = (Spec("activations", strength=strength),)
        chosen = {"optimizer": adamw(decay=decay), "fraction": fraction}
        return run(scale, told, penalties=penalties, **chosen, **how)

    for fraction in (0.6, 0.5):
        yield charged(5.0, fraction)
        yield charged(5.0, fraction, 0.0)
    for fraction in (0.6, 0.5):
        for strength in (0.5, 50.0, 0.05, 500.0):
            yield charged(strength, fraction)
    root = width(scale) ** 0.5
    for factor, strength in product((0.25, 0.5, 1.0), (5.0, 0.5, 50.0)):
        radius = penalty(strength, target=factor * root)
        told = f"radius {factor:g} √d, strength {strength:g}"
        yield run(scale, told, penalties=radius, fraction=0.6, **how)
    first = by_scale(scale, 2.0, 1.0, 1.0)  # norms of PyTorch's start: 13 and 6.5
    for norm in (8.0, 13.0, 20.0, 30.0):
        held = Spec("hold_norm", names=("layers.0.weight",), norm=first * norm)
        yield run(
            scale,
            f"first matrix held at {first * norm:g}, f = 0.6",
            optimizer=adamw(decay=0.0),
            wrappers=(held,),
            fraction=0.6,
            **how,
        )
