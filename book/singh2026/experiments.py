"""Experiments of Singh, Misra and Orvieto 2026, "Grokking in Transformers".

Settings are those of the released scripts. The published curves were made with GELU,
which the first commit had as its default, while the paper's Table 2 says ReLU: GELU is
the profile here ("as run") and ``fig02relu`` repeats the central runs with ReLU ("as
written"). One seed sets both the split and the start; the five are the authors'.
"""

from claimbook.experiment import Spec
from claimbook.papers import END, Registry, Rows, Size, experiment, row, shared

# Where a norm sits; the names are the paper's (Table 1), M+A^v only in the logs.
NORMS = {
    "M": ("mlp",),
    "M+A*": ("query_key", "value", "mlp"),
    "A*": ("query_key", "value"),
    "No LN": (),
    "A^v": ("value",),
    "A^qk": ("query_key",),
    "M+A^v": ("value", "mlp"),
}
HEADLINE = ("M", "M+A*", "A*", "No LN")


def transformer(norms: tuple[str, ...] = (), width: int = 128, **options) -> Spec:
    """The paper's transformer; bidirectional, read at the equals sign."""
    tokens = {"classes": Size(114, 38), "vocabulary": Size(114, 38), "positions": 3}
    how = {"norms": norms, "norm_eps": 0.0, "mlp_bias": True, "initialisation": "lecun"}
    how |= {"width": width, "hidden": (4 * width,), "activation": "gelu"} | options
    return Spec("transformer", **tokens, **how)


def adamw(lr: float = 1e-3, weight_decay: float = 1.0) -> Spec:
    return Spec("adamw", lr=lr, betas=(0.9, 0.98), eps=1e-8, weight_decay=weight_decay)


ADDITION = {"p": Size(113, 37), "train_fraction": Size(0.3, 0.5), "equals": True}
COMMON = {
    "dataset": Spec("modular", **ADDITION, shuffle="python"),
    "model": transformer(),
    "loss": Spec("softmax_cross_entropy", dtype="float64"),
    "optimizer": adamw(),
    "epochs": Size(10_000, 5000),
    "log": ((10, 1), (2000, 10), (END, 20)),
    "observables": ("core", "update"),
    "rarely": (200, ("norms", "fourier", "attention", "scale_free", "spectrum")),
}
EXPERIMENTS = Registry(
    "singh2026", (456, 789, 111, 222, 333), seed_count=Size(5, 3), **COMMON
)
SMALL = (
    "p = 37 with half of the table, 5,000 of 10,000 epochs, up to three seeds of five"
)


@EXPERIMENTS.section
def norms() -> Rows:
    """Where layer norm sits."""
    yield experiment("fig02", SMALL)  # also Figures 1, 3a, 3c and 6
    for name in HEADLINE:
        yield row(name, model=transformer(NORMS[name]))

    yield experiment("fig02relu", SMALL)  # the activation that the paper names
    for name in HEADLINE:
        model = transformer(NORMS[name], activation="relu")
        yield row(f"{name}, ReLU", model=model)

    yield experiment("fig02float32", SMALL)  # which the paper avoids
    loss = Spec("softmax_cross_entropy", dtype="float32")
    for name in HEADLINE:
        yield row(f"{name}, float32 loss", loss, model=transformer(NORMS[name]))

    yield experiment("fig03", SMALL)  # queries and keys, or values, alone
    for name in ("A^v", "A^qk", "M+A^v"):
        yield row(name, model=transformer(NORMS[name]))


@EXPERIMENTS.section
def settings() -> Rows:
    """Learning rate, weight decay, readout scale."""
    # Learning rates; the code keeps rate times decay fixed, the paper the decay. With
    # the decay fixed a larger rate decays faster too, and 4,000 epochs are enough.
    yield experiment("fig04lr", SMALL)
    yield row("No LN")
    for lr in (3e-3, 5e-3, 1e-2):
        yield row(f"learning rate {lr:g}", optimizer=adamw(lr, 1e-3 / lr))
    for lr in (3e-3, 5e-3, 1e-2):
        how = {"optimizer": adamw(lr), "epochs": Size(4000, 5000)}
        yield row(f"learning rate {lr:g}, decay fixed", **how)

    # A smaller rate with the product kept: is M's lead there without its bursts?
    yield experiment("slow", SMALL)
    for lr in (3e-4, 5e-4):
        for name in ("M", "No LN"):
            model, rule = transformer(NORMS[name]), adamw(lr, round(1e-3 / lr, 6))
            yield row(f"{name}, learning rate {lr:g}", model=model, optimizer=rule)

    yield experiment("fig04wd", SMALL)  # Weight decays; also Figure 9
    for decay in (0.1, 0.2, 0.5, 0.75, 1.0, 1.5):
        name = "No LN" if decay == 1 else f"decay {decay:g}"
        yield row(name, optimizer=adamw(weight_decay=decay))

    yield experiment("fig05", SMALL)  # with the learning rate divided, and without
    yield row("No LN")
    for alpha in (0.5, 0.75, 1.25, 1.5):
        divided = adamw(1e-3 / alpha**2)
        yield row(f"scale {alpha:g}, lr/α²", optimizer=divided, alpha=alpha)
        yield row(f"scale {alpha:g}, lr fixed", alpha=alpha)


@EXPERIMENTS.section
def networks() -> Rows:
    """Another norm, another network."""
    yield experiment("fig07", SMALL)  # RMSNorm in place of layer norm
    yield row("No LN")
    for name in HEADLINE[:3]:
        yield row(f"{name}, RMSNorm", model=transformer(NORMS[name], norm="rms"))

    yield experiment("fig08", SMALL)  # Three layers of half the width
    yield shared(rarely=(200, ("norms", "fourier")))
    for name in HEADLINE:
        model = transformer(NORMS[name], width=64, depth=3)
        yield row(f"{name}, three layers", model=model)
