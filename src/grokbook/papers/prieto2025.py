"""Experiments of Prieto et al. 2025, "Grokking at the Edge of Numerical Stability".

Settings are those of the released scripts unless a remark says otherwise; the paper
states none of learning rate, betas, eps or epochs for the grokking figures. Where the
paper and its code disagree, both are arms. Seed 42 is the released one.
"""

from collections.abc import Callable

from grokbook.experiment import Arm, Experiment, Spec

SEEDS = (42, 0, 1, 2, 3)
EXPERIMENTS: dict[str, Callable[[str], Experiment]] = {}

SOFTMAX16, SOFTMAX32, SOFTMAX64 = (
    Spec("softmax_cross_entropy", dtype=dtype)
    for dtype in ("float16", "float32", "float64")
)
EXACT32, EXACT64 = (
    Spec("exact_cross_entropy", dtype=dtype) for dtype in ("float32", "float64")
)
STABLEMAX = Spec("stablemax_cross_entropy", dtype="float64")
# ⊥Grad as the official code has it, and as the paper's equations 11 and 12 say.
ORTHOGONAL = Spec("orthogonal", rescale=True, scope="tensor")
ORTHOGONAL_PAPER = Spec("orthogonal", rescale=False, scope="global")
# The official ⊥AdamW steps with PyTorch's defaults, whatever its options say.
AS_RUN = {"beta2": 0.999, "eps": 1e-8}
AS_INTENDED = {"beta2": 0.99, "eps": 1e-25}


def experiment(function: Callable[[str], Experiment]) -> Callable[[str], Experiment]:
    EXPERIMENTS[function.__name__] = function
    return function


def modular(p: int, fraction: float, operation: str = "add", **options) -> Spec:
    return Spec("modular", p=p, train_fraction=fraction, operation=operation, **options)


def mlp(p: int, width: int = 200, **options) -> Spec:
    """The bias-free 2 x 200 ReLU network on two concatenated one-hots."""
    return Spec(
        "mlp",
        classes=p,
        vocabulary=p,
        widths=(width, width),
        **({"bias": False} | options),
    )


def adamw(
    lr: float, beta2: float = 0.99, eps: float = 1e-25, weight_decay: float = 0.0
) -> Spec:
    return Spec("adamw", lr=lr, betas=(0.9, beta2), eps=eps, weight_decay=weight_decay)


def _sizes(scale: str) -> tuple[int, int]:
    """Modulus and width: the paper's, or tiny ones for a smoke test."""
    return (11, 16) if scale == "smoke" else (113, 200)


def _seeds(scale: str, laptop: int = 1) -> tuple[int, ...]:
    return SEEDS[: {"paper": 5, "laptop": laptop, "smoke": 2}[scale]]


@experiment
def fig01a(scale: str) -> Experiment:
    """⊥AdamW: the figure's arrow says "+ StableMax", the script runs softmax CE."""
    p, width = _sizes(scale)
    epochs = 12 if scale == "smoke" else 300

    def arm(name: str, loss: Spec, hyper: dict) -> Arm:
        return Arm(
            name,
            modular(p, 0.4),
            mlp(p, width),
            loss,
            adamw(0.01, **hyper),
            epochs,
            5,
            wrappers=(ORTHOGONAL,),
        )

    arms = (
        arm("⊥AdamW, softmax, as run", SOFTMAX32, AS_RUN),
        arm("⊥AdamW, softmax, as intended", SOFTMAX32, AS_INTENDED),
        arm("⊥AdamW, StableMax, as run", STABLEMAX, AS_RUN),
        arm("⊥AdamW, exact CE, as run", EXACT32, AS_RUN),
    )
    reduced = "one seed of five" if scale == "laptop" else ""
    return Experiment("prieto2025/fig01a", scale, arms, _seeds(scale), reduced)


@experiment
def fig01c(scale: str) -> Experiment:
    """Softmax CE overfits and stops; the StableMax curve of 1b is fig04left's."""
    p, width = _sizes(scale)
    epochs = {"paper": 80_000, "laptop": 10_000, "smoke": 12}[scale]
    common = {
        "epochs": epochs,
        "log": ((1000, 50), (epochs, 500)),
        "keep": (0, epochs),
    }
    arms = tuple(
        Arm(name, modular(p, 0.4), mlp(p, width), loss, adamw(0.01), **common)
        for name, loss in (
            ("softmax float64", SOFTMAX64),
            ("softmax float32", SOFTMAX32),
            ("exact CE float64", EXACT64),
        )
    )
    reduced = "10,000 of 80,000 epochs, one seed of five" if scale == "laptop" else ""
    return Experiment("prieto2025/fig01c", scale, arms, _seeds(scale), reduced)


@experiment
def fig02(scale: str) -> Experiment:
    """Softmax precision against training-set size; eps 1e-30 at 40 % as released."""
    p, width = _sizes(scale)
    epochs = {"paper": 20_000, "laptop": 8_000, "smoke": 12}[scale]
    fractions = {0.4: 1e-30, 0.6: 1e-25, 0.7: 1e-25}
    if scale == "laptop":
        fractions = {0.7: 1e-25}
    arms = tuple(
        Arm(
            f"{fraction:.0%} {name}",
            modular(p, fraction),
            mlp(p, width),
            loss,
            adamw(5e-4, eps=eps),
            epochs,
            ((1000, 50), (epochs, 100)),
        )
        for fraction, eps in fractions.items()
        for name, loss in (
            ("float16", SOFTMAX16),
            ("float32", SOFTMAX32),
            ("float64", SOFTMAX64),
        )
    )
    reduced = (
        "8,000 of 20,000 epochs, 70 % of the data only, one seed of five"
        if scale == "laptop"
        else ""
    )
    return Experiment("prieto2025/fig02", scale, arms, _seeds(scale), reduced)


@experiment
def fig04left(scale: str) -> Experiment:
    """StableMax groks without regularisation; also panels 1b, 4-middle, 11a and 12."""
    p, width = _sizes(scale)
    epochs = {"paper": 100_000, "laptop": 40_000, "smoke": 12}[scale]
    fraction = 0.4
    if scale == "laptop":
        p, fraction = 59, 0.7
    common = {
        "epochs": epochs,
        "log": ((1000, 50), (epochs, 500)),
        "keep": (0, epochs),
    }
    arms = [
        Arm(
            name,
            modular(p, fraction, operation),
            mlp(p, width),
            STABLEMAX,
            adamw(0.01, beta2=0.999),
            **common,
        )
        for name, operation in (("addition", "add"), ("product", "multiply"))
    ]
    parity = Spec("sparse_parity", samples=40 if scale == "smoke" else 2000)
    arms += [
        Arm(
            f"sparse parity, data seed {data_seed}",
            Spec(parity.name, **parity.options, data_seed=data_seed),
            Spec("mlp", classes=2, features=43, widths=(width, width), bias=True),
            STABLEMAX,
            adamw(0.01, beta2=0.999, eps=1e-18),
            **common,
        )
        for data_seed in (42, 2)
    ]
    reduced = (
        "p = 59 with 70 % of the table, 40,000 of 100,000 epochs, one seed of five"
        if scale == "laptop"
        else ""
    )
    return Experiment(
        "prieto2025/fig04left", scale, tuple(arms), _seeds(scale), reduced
    )


@experiment
def fig04right(scale: str) -> Experiment:
    """Input codes: base-2 as released, and random codes as the paper words it."""
    p, width = _sizes(scale)
    epochs = 12 if scale == "smoke" else 1000
    bits = (p - 1).bit_length()

    def arm(name: str, inputs: dict, features: int | None) -> Arm:
        network = (
            mlp(p, width)
            if features is None
            else Spec("mlp", classes=p, features=features, widths=(width, width))
        )
        return Arm(
            name,
            modular(p, 0.4, **inputs),
            network,
            SOFTMAX64,
            adamw(0.02, eps=1e-30),
            epochs,
            10,
        )

    arms = (
        arm("two-hot", {}, None),
        arm("base-2 codes, 7 bits", {"encoding": "binary"}, 2 * bits),
        arm(
            "random codes, 7 bits",
            {"encoding": "random_binary", "bits": bits},
            2 * bits,
        ),
        arm("random codes, 14 bits", {"encoding": "random_binary", "bits": 14}, 28),
        arm("scalar", {"encoding": "scalar"}, 2),
    )
    reduced = "one seed of five" if scale == "laptop" else ""
    return Experiment("prieto2025/fig04right", scale, arms, _seeds(scale), reduced)


def nanda(p: int, *, operation_classes: int, width: int = 128) -> Spec:
    """The bias-free transformer of the first public code (two MLP matrices)."""
    return Spec(
        "transformer",
        classes=operation_classes,
        vocabulary=p + 1,
        width=width,
        hidden=(4 * width, 4 * width),
        causal=True,
    )


def torch_encoder(p: int, *, width: int = 128) -> Spec:
    """The released encoder: post-norm, dropout, no positions, 2048 hidden units."""
    return Spec(
        "transformer",
        classes=p,
        vocabulary=p,
        width=width,
        hidden=(16 * width,),
        norms=("post_attention", "post_mlp"),
        learned_positions=False,
        bias=True,
        dropout=0.1,
        initialisation="torch",
    )


@experiment
def fig05(scale: str) -> Experiment:
    """Gradient against weights: nothing but the task is given, settings are ours."""
    p, width = _sizes(scale)
    epochs = 12 if scale == "smoke" else 3000
    common = {
        "epochs": epochs,
        "log": ((200, 10), (epochs, 50)),
        "observables": ("core", "collapse", "alignment"),
    }
    arms = [
        Arm(
            name,
            modular(p, 0.4),
            mlp(p, width, bias=bias),
            SOFTMAX64,
            adamw(5e-4),
            **common,
        )
        for name, bias in (("MLP without bias", False), ("MLP with bias", True))
    ]
    if scale != "laptop":
        arms.append(
            Arm(
                "transformer",
                modular(p, 0.4, smallest=1),
                nanda(
                    p, operation_classes=p + 1, width=16 if scale == "smoke" else 128
                ),
                SOFTMAX64,
                Spec("adamw", lr=1e-3, betas=(0.9, 0.98), eps=1e-12),
                **common,
            )
        )
    reduced = "no transformer, one seed of five" if scale == "laptop" else ""
    return Experiment("prieto2025/fig05", scale, tuple(arms), _seeds(scale), reduced)


@experiment
def fig06a(scale: str) -> Experiment:
    """Transformers: subtraction on the first public one, addition on the released."""
    p, width = (11, 16) if scale == "smoke" else (113, 128)
    epochs = {"paper": 5000, "laptop": 3000, "smoke": 12}[scale]
    log = ((1000, 25), (epochs, 100))
    optimizers = (
        ("AdamW", SOFTMAX32, adamw(1e-3), ()),
        ("⊥AdamW", SOFTMAX32, adamw(1e-3, **AS_RUN), (ORTHOGONAL,)),
        ("AdamW, decay 1.5", SOFTMAX32, adamw(1e-3, weight_decay=1.5), ()),
        # the first public code ran its no-norm network with this loss
        ("⊥AdamW + StableMax", STABLEMAX, adamw(1e-3, **AS_RUN), (ORTHOGONAL,)),
    )
    networks = [
        (
            "no-norm, subtraction",
            "subtract",
            nanda(p, operation_classes=p + 1, width=width),
        )
    ]
    if scale != "laptop":
        networks.append(("released, addition", "add", torch_encoder(p, width=width)))
    arms = tuple(
        Arm(
            f"{network_name}: {name}",
            modular(p, 0.4, operation, smallest=1),
            network,
            loss,
            optimizer,
            epochs,
            log,
            wrappers=wrappers,
        )
        for network_name, operation, network in networks
        for name, loss, optimizer, wrappers in optimizers
    )
    reduced = (
        "3,000 of 5,000 epochs, one of two networks, one seed of five"
        if scale == "laptop"
        else ""
    )
    return Experiment("prieto2025/fig06a", scale, arms, _seeds(scale), reduced)


@experiment
def fig06b(scale: str) -> Experiment:
    """MLP: AdamW, ⊥AdamW over learning rates and hyper-parameters, ⊥SGD."""
    p, width = _sizes(scale)
    epochs = 12 if scale == "smoke" else 500

    def arm(name: str, optimizer: Spec, wrappers: tuple = (), **changes) -> Arm:
        settings = {"loss": SOFTMAX32} | changes
        return Arm(
            name,
            modular(p, 0.4),
            mlp(p, width),
            optimizer=optimizer,
            epochs=epochs,
            log=10,
            wrappers=wrappers,
            **settings,
        )

    sgd = Spec("sgd", lr=10.0, momentum=0.8)
    arms = [
        arm("AdamW", adamw(0.005)),
        arm(
            "⊥SGD + StableMax, float64",
            sgd,
            (ORTHOGONAL,),
            loss=STABLEMAX,
            dtype="float64",
        ),
    ]
    rates = (0.005,) if scale == "laptop" else (0.002, 0.005, 0.01)
    arms += [
        arm(f"⊥AdamW {lr:g}, {name}", adamw(lr, **hyper), (ORTHOGONAL,))
        for lr in rates
        for name, hyper in (("as run", AS_RUN), ("as intended", AS_INTENDED))
    ]
    arms += [
        arm("⊥AdamW 0.005, paper's form", adamw(0.005, **AS_RUN), (ORTHOGONAL_PAPER,)),
        arm("⊥SGD + softmax", sgd, (ORTHOGONAL,)),
        arm(
            "⊥SGD + StableMax, paper's form",
            sgd,
            (ORTHOGONAL_PAPER,),
            loss=STABLEMAX,
            dtype="float64",
        ),
    ]
    reduced = "one learning rate, two seeds of five" if scale == "laptop" else ""
    return Experiment(
        "prieto2025/fig06b", scale, tuple(arms), _seeds(scale, laptop=2), reduced
    )


@experiment
def fig06c(scale: str) -> Experiment:
    """Weight decay trades loss for norm: a run name of the first public code."""
    p, width = _sizes(scale)
    epochs = {"paper": 10_000, "laptop": 5_000, "smoke": 12}[scale]
    common = {"epochs": epochs, "log": ((1000, 10), (epochs, 100))}
    arms = (
        Arm(
            "AdamW, decay 1.0",
            modular(p, 0.3),
            mlp(p, width),
            SOFTMAX32,
            adamw(0.01, weight_decay=1.0),
            **common,
        ),
        Arm(
            "AdamW, explicit L2 5e-5",
            modular(p, 0.3),
            mlp(p, width),
            SOFTMAX32,
            adamw(0.01),
            penalties=(Spec("l2", strength=5e-5),),
            **common,
        ),
    )
    reduced = "5,000 of 10,000 epochs, one seed of five" if scale == "laptop" else ""
    return Experiment("prieto2025/fig06c", scale, arms, _seeds(scale), reduced)


@experiment
def fig08(scale: str) -> Experiment:
    """Collapse forced from epoch 6000 on: by the paper's zero, and by a detached logit.

    Set-up A of the specification: the authors' baseline is a cross-entropy that does
    not collapse, whose code was never released; the exact one stands in for it.
    """
    p, width = _sizes(scale)
    epochs, start = {
        "paper": (20_000, 6000),
        "laptop": (10_000, 4000),
        "smoke": (12, 6),
    }[scale]
    interventions = (
        ("baseline", None),
        ("correct logit times 0", Spec("correct_logit_zeroed", dtype="float64")),
        ("correct logit detached", Spec("correct_logit_detached", dtype="float64")),
    )
    arms = tuple(
        Arm(
            name,
            modular(p, 0.6),
            mlp(p, width),
            EXACT64,
            adamw(1e-3, eps=1e-30),
            epochs,
            100,
            later_loss=None if loss is None else (start, loss),
        )
        for name, loss in interventions
    )
    reduced = (
        "10,000 of 20,000 epochs, intervention at 4,000, one seed of five"
        if scale == "laptop"
        else ""
    )
    return Experiment("prieto2025/fig08", scale, arms, _seeds(scale), reduced)


@experiment
def fig09(scale: str) -> Experiment:
    """Figure 2 with SGD steps of constant length, 0.0045 times the released "lr"."""
    p, width = _sizes(scale)
    epochs = 12 if scale == "smoke" else 10_000
    steps = {0.4: 0.0135, 0.6: 0.018, 0.7: 0.018}
    if scale == "laptop":
        steps = {0.7: 0.018}
    arms = tuple(
        Arm(
            f"{fraction:.0%} {name}",
            modular(p, fraction),
            mlp(p, width),
            loss,
            Spec("sgd", lr=step, momentum=0.0),
            epochs,
            100,
            wrappers=(Spec("gradient_norm_schedule"),),
        )
        for fraction, step in steps.items()
        for name, loss in (
            ("float16", SOFTMAX16),
            ("float32", SOFTMAX32),
            ("float64", SOFTMAX64),
        )
    )
    reduced = "70 % of the data only, one seed of five" if scale == "laptop" else ""
    return Experiment("prieto2025/fig09", scale, arms, _seeds(scale), reduced)


@experiment
def fig10(scale: str) -> Experiment:
    """Plain gradient descent: how many updates are too small to change their weight."""
    p, width = _sizes(scale)
    epochs = {"paper": 20_000, "laptop": 5_000, "smoke": 12}[scale]
    arms = tuple(
        Arm(
            f"momentum {momentum:g}",
            modular(p, 0.3),
            mlp(p, width),
            SOFTMAX32,
            Spec("sgd", lr=20.0, momentum=momentum),
            epochs,
            ((1000, 20), (epochs, 100)),
            observables=("core", "collapse", "gradients"),
        )
        for momentum in (0.0, 0.8)
    )
    reduced = "5,000 of 20,000 epochs, one seed of five" if scale == "laptop" else ""
    return Experiment("prieto2025/fig10", scale, arms, _seeds(scale), reduced)


@experiment
def fig11(scale: str) -> Experiment:
    """Logit-norm penalty and Taylor softmax; the StableMax curve is fig04left's."""
    p, width = _sizes(scale)
    epochs = {"paper": 80_000, "laptop": 10_000, "smoke": 12}[scale]

    def arm(name: str, loss: Spec, penalties: tuple[Spec, ...] = ()) -> Arm:
        return Arm(
            name,
            modular(p, 0.4),
            mlp(p, width),
            loss,
            adamw(0.01, beta2=0.999),
            epochs,
            ((1000, 20), (epochs, 100)),
            penalties=penalties,
            stop=0.995,
        )

    strengths = (0.01,) if scale == "laptop" else (1e-4, 1e-3, 1e-2, 1e-1)
    arms = [
        arm(
            f"logit norm {strength:g}",
            SOFTMAX64,
            (Spec("logit_norm", strength=strength),),
        )
        for strength in strengths
    ]
    arms += [
        arm(name, Spec("taylor_cross_entropy", dtype="float64", detach_min=detach))
        for name, detach in (("Taylor", False), ("Taylor, minimum detached", True))
    ]
    reduced = (
        "10,000 of 80,000 epochs, one penalty strength, one seed of five"
        if scale == "laptop"
        else ""
    )
    return Experiment("prieto2025/fig11", scale, tuple(arms), _seeds(scale), reduced)


@experiment
def fig14(scale: str) -> Experiment:
    """MNIST with all weights times 100, without and with weight decay."""
    epochs = {"paper": 100_000, "laptop": 20_000, "smoke": 12}[scale]
    width = 16 if scale == "smoke" else 200
    arms = tuple(
        Arm(
            name,
            Spec("mnist", train_samples=200),
            Spec("mlp", classes=10, features=784, widths=(width, width)),
            SOFTMAX32,
            adamw(1e-3, beta2=0.999, eps=1e-8, weight_decay=decay),
            epochs,
            ((1000, 50), (epochs, 500)),
            init_scale=100.0,
        )
        for name, decay in (("no decay", 0.0), ("decay 0.1", 0.1), ("decay 1", 1.0))
    )
    reduced = "20,000 of 100,000 epochs, one seed of five" if scale == "laptop" else ""
    return Experiment("prieto2025/fig14", scale, arms, _seeds(scale), reduced)


@experiment
def fig15(scale: str) -> Experiment:
    """Weight decay against ⊥AdamW at two learning rates: the claim depends on it."""
    p, width = _sizes(scale)
    epochs = 12 if scale == "smoke" else 1000
    rates = (0.05,) if scale == "laptop" else (0.05, 0.01)

    def arm(name: str, optimizer: Spec, wrappers: tuple[Spec, ...] = ()) -> Arm:
        return Arm(
            name,
            modular(p, 0.4),
            mlp(p, width),
            SOFTMAX32,
            optimizer,
            epochs,
            5,
            wrappers=wrappers,
        )

    arms = [
        arm(f"lr {lr:g}, decay {decay:g}", adamw(lr, weight_decay=decay))
        for lr in rates
        for decay in (0.5, 1.0, 2.0, 4.0, 6.0, 8.0)
    ]
    arms += [
        arm(f"lr {lr:g}, ⊥AdamW", adamw(lr, **AS_RUN), (ORTHOGONAL,)) for lr in rates
    ]
    reduced = "one learning rate, one seed of five" if scale == "laptop" else ""
    return Experiment("prieto2025/fig15", scale, tuple(arms), _seeds(scale), reduced)


@experiment
def fig15slow(scale: str) -> Experiment:
    """The same grid at the low learning rate that the author remembers."""
    p, width = _sizes(scale)
    epochs = {"paper": 5000, "laptop": 2000, "smoke": 12}[scale]
    decays = (8.0,) if scale == "laptop" else (0.5, 1.0, 2.0, 4.0, 6.0, 8.0)
    arms = [
        Arm(
            name,
            modular(p, 0.4),
            mlp(p, width),
            SOFTMAX32,
            optimizer,
            epochs,
            25,
            wrappers=wrappers,
        )
        for name, optimizer, wrappers in [
            (f"lr 0.001, decay {d:g}", adamw(1e-3, weight_decay=d), ()) for d in decays
        ]
        + [("lr 0.001, ⊥AdamW", adamw(1e-3, **AS_RUN), (ORTHOGONAL,))]
    ]
    reduced = "2,000 of 5,000 epochs, one decay, one seed" if scale == "laptop" else ""
    return Experiment(
        "prieto2025/fig15slow", scale, tuple(arms), _seeds(scale), reduced
    )


@experiment
def fig16(scale: str) -> Experiment:
    """Temperature 1e5 (as a logit scale of 1e-5) and label smoothing 0.2."""
    p, width = _sizes(scale)
    epochs = {"paper": 80_000, "laptop": 10_000, "smoke": 12}[scale]
    cases = (
        ("temperature 1", SOFTMAX32, 1.0),
        ("temperature 1e5", SOFTMAX32, 1e-5),
        (
            "label smoothing 0.2",
            Spec("softmax_cross_entropy", dtype="float32", smoothing=0.2),
            1.0,
        ),
    )
    arms = tuple(
        Arm(
            name,
            modular(p, 0.4),
            mlp(p, width),
            loss,
            adamw(0.01, beta2=0.999),
            epochs,
            ((1000, 50), (epochs, 500)),
            alpha=alpha,
        )
        for name, loss, alpha in cases
    )
    reduced = "10,000 of 80,000 epochs, one seed of five" if scale == "laptop" else ""
    return Experiment("prieto2025/fig16", scale, arms, _seeds(scale), reduced)
