"""Experiments of Liu et al. 2026, "Grokking or Glitching?".

There is no official code. Settings are those of the paper's Tables 2 to 4; what they
leave open is inferred (the remark says from what), and where two readings are possible
both are arms. The number of training images is stated nowhere: 200, as in Thilak et al.
2022, whose betas and learning rate the CIFAR-10 runs share. Steps are full-batch
epochs unless ``batch_size`` says otherwise.
"""

from collections.abc import Iterator

from grokbook.experiment import Arm, Spec
from grokbook.papers.registry import Registry, by_scale

EXPERIMENTS = Registry("liu2026", seeds=(42, *range(9)))

SOFTMAX32, SOFTMAX64 = (
    Spec("softmax_cross_entropy", dtype=dtype) for dtype in ("float32", "float64")
)
PROJECTED, REPAIRED = Spec("projected_cross_entropy"), Spec("repaired_cross_entropy")
COLLAPSED = Spec("collapsed_cross_entropy")  # in float64
UNBALANCED = Spec("unbalanced_cross_entropy")  # in float64
CLASSES = 10
# A mean loss at which at least nine of ten samples have none: that of a sample is 0 or
# at least the distance from 1 to the next float32.
NEARLY_ZERO = 0.1 * 2.0**-23
LOOK = ("core", "inflation", "head_update")
LOOKED_AT = {"observables": LOOK, "trace": True, "through_nan": True}
# Of networks with batch norm; without it, running means are looked at, not the steps.
AS_TRAINED = {"batch_statistics": True}
TABLE2 = {
    "dataset": "modular division",
    "dataset.p": "97",
    "dataset.train_fraction": "0.5",
    "dataset.equals": "True",
    "dataset.operator": "True",
    "loss": "cross-entropy",
    "optimizer": "Adam",
    "optimizer.lr": "0.001",
    "optimizer.betas": "(0.9, 0.999)",
    "optimizer.eps": "1e-08",
    "optimizer.weight_decay": "0",
    "schedule": "warmup",
    "schedule.over": "10",
    "batch size": "512",
    "steps": "100,000",
    "epochs (full batch)": "100,000 steps of 512 rows",
    "weights": "float32",
    "seeds": "42",
}
"""What Table 2 says of the modular runs, by the names of ``tables.settings``."""

TABLE3 = {
    "dataset": "CIFAR-10",
    "dataset.test_samples": "1,000",
    "dataset.normalised": "no (ToTensor)",
    "loss": "cross-entropy",
    "optimizer": "Adam",
    "optimizer.lr": "0.001",
    "optimizer.betas": "(0.9, 0.95)",
    "optimizer.eps": "1e-08",
    "optimizer.weight_decay": "0",
    "batch size": "full batch",
    "epochs (full batch)": "10,000",
    "weights": "float32",
    "seeds": "42",
}
"""What Table 3 says of the CIFAR-10 runs, by the same names."""

_DIVISION = TABLE2 | {"dataset.operation": "divide", "loss.dtype": "float32"}
STATED = {
    "fig06": TABLE3 | {"dataset.train_samples": "not stated", "model.widths": "d = 20"},
    "fig07": _DIVISION
    | {
        "model": "decoder-only transformer",
        "model.depth": "2",
        "model.width": "128",
        "model.hidden": "4 × width",
        "model.causal": "True",
    },
    "fig08": _DIVISION
    | {
        "model": "mlp",
        "model.widths": "(512, 512, 512, 512, 512)",
        "model.vocabulary": "99",
        "model.positions": "4",
    },
    "fig10": TABLE3
    | {"dataset.train_samples": "not stated", "model": "vgg11", "model.width": "64"},
}
"""The same of the networks of single figures, with what Appendix E adds."""

CLAIMS = {
    "again": {
        "statement": "float32: they come again, at least two",
        "quote": "Deep neural networks exhibit periodic loss spikes during "
        "unregularized long-term training",
        "where": "Abstract",
        "at_least": 2,
    },
    "float64 loss": {
        "statement": "the loss in float64: no slingshot, in seeds in which float32 has "
        "one",
        "quote": "casting the output logits to float64 solely during the loss "
        "computation is sufficient to eliminate the Slingshot effect",
        "where": "Section 2",
        "at_most": 0,
    },
    "projection": {
        "statement": "zero-sum projection: no slingshot, in seeds in which float32 has "
        "one",
        "quote": "After enforcing this constraint throughout training, the Slingshot "
        "spike is eliminated.",
        "where": "Section 3",
        "at_most": 0,
    },
    "inflation": {
        "statement": "float32: shows inflation (1: at least two of its three signs)",
        "quote": "These two effects form a positive feedback loop: W_G and μ_G become "
        "anti-parallel, and their norms grow exponentially.",
        "where": "Section 1",
        "at_least": 1,
    },
    "no inflation": {
        "statement": "the loss in float64: shows none, in seeds in which float32 does",
        "quote": "finite-precision errors in cross-entropy computation can break the "
        "zero-sum constraint of gradients across classes and introduce a systematic "
        "drift",
        "where": "Abstract",
        "at_most": 0,
    },
}
"""What the paper says of every network, as a page's sheet takes it."""

SHORT = "{} of 10,000 epochs, three seeds of five"


def adamw(
    lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.95), eps: float = 1e-8
) -> Spec:
    """Adam without weight decay; betas of Table 3."""
    return Spec("adamw", lr=lr, betas=betas, eps=eps, weight_decay=0.0)


# CIFAR-10 (Table 3) ------------------------------------------------------------------


def images(scale: str, samples: int = 200, tests: int = 1000) -> Spec:
    """Pixels in [0, 1], not normalised; test images are the first 1,000."""
    train, test = by_scale(scale, (samples, 1000), (samples, tests), (12, 8))
    batches = 1 if train <= 10_000 else 5
    return Spec("cifar10", train_samples=train, test_samples=test, batches=batches)


def deep(scale: str, width: int = 512, **options) -> Spec:
    """Table 3's MLP: 3072, five hidden layers, 10; biases as in Table 2's."""
    widths = by_scale(scale, (width,) * 5, (width,) * 5, (8,) * 5)
    return Spec("mlp", classes=CLASSES, widths=widths, features=3072, **options)


def cifar(
    scale: str,
    name: str,
    loss: Spec = SOFTMAX32,
    *,
    model: Spec | None = None,
    optimizer: Spec | None = None,
    epochs: int | None = None,
    log: int | tuple[tuple[int, int], ...] = 50,
    **rest,
) -> Arm:
    """One full-batch run on CIFAR-10, by default of the MLP of width 512."""
    epochs = epochs or by_scale(scale, 10_000, 3000, 12)
    return Arm(
        name,
        **({"dataset": images(scale)} | rest.pop("data", {})),
        model=model or deep(scale),
        loss=loss,
        optimizer=optimizer or adamw(),
        epochs=by_scale(scale, epochs, epochs, min(epochs, 12)),
        log=by_scale(scale, log, log, 3),
        **(LOOKED_AT | rest),
    )


def causes(head: str) -> Iterator[tuple[str, Spec, dict]]:
    """The interventions of the causal table on a network whose head has that name."""
    yield "projection", PROJECTED, {}
    centred = Spec("centre_rows", names=(head,))
    yield "W_G subtracted", SOFTMAX32, {"wrappers": (centred,)}
    yield "repair", REPAIRED, {}
    yield "simulated collapse", COLLAPSED, {}
    yield "sum broken", UNBALANCED, {}
    yield "sum broken, W_G subtracted", UNBALANCED, {"wrappers": (centred,)}


@EXPERIMENTS.experiment(reduced=SHORT.format("3,000"), laptop_seeds=3, paper_seeds=5)
def fig01(scale: str) -> Iterator[Arm]:
    """Precision; also the base of Figures 2a, 2b, 3, 4, 9 and of the causal table.

    What is recorded of float32, here and in ``fig02a``, was also looked at in each of
    160 steps around its first slingshot, with "head_update_histogram".
    """
    yield cifar(scale, "float32")
    yield cifar(scale, "float64 loss", SOFTMAX64)
    yield cifar(scale, "float64", SOFTMAX64, dtype="float64")


@EXPERIMENTS.experiment(reduced=SHORT.format("3,000"), laptop_seeds=3, paper_seeds=5)
def causal512(scale: str) -> Iterator[Arm]:
    """What removes inflation and what removes spikes: the MLP of width 512."""
    for name, loss, how in causes("layers.5.weight"):
        yield cifar(scale, name, loss, **how)


@EXPERIMENTS.experiment(reduced=SHORT.format("3,000"), laptop_seeds=3, paper_seeds=5)
def fig02a(scale: str) -> Iterator[Arm]:
    """Other betas: the size of the update at a spike should follow them."""
    for beta2 in (0.9, 0.999):
        yield cifar(scale, f"β2 {beta2:g}", optimizer=adamw(betas=(0.9, beta2)))


@EXPERIMENTS.experiment(reduced=SHORT.format("3,000"), laptop_seeds=3, paper_seeds=5)
def fig03a(scale: str) -> Iterator[Arm]:
    """Adam's epsilon."""
    for eps in (1e-6, 1e-5):
        yield cifar(scale, f"ε {eps:g}", optimizer=adamw(eps=eps))


@EXPERIMENTS.experiment(reduced=SHORT.format("3,000"), laptop_seeds=3, paper_seeds=5)
def fig03b(scale: str) -> Iterator[Arm]:
    """A norm before the head; batch norm there is the MLP's case of Figure 3c."""
    for norm, how in (("layer", {}), ("batch", AS_TRAINED)):
        for affine, suffix in ((True, ""), (False, ", no affine")):
            model = deep(scale, head_norm=norm, affine=affine)
            yield cifar(scale, f"{norm} norm{suffix}", model=model, **how)


@EXPERIMENTS.experiment(
    reduced="100 of 200 images, width 8 of 64, 2,000 of 10,000 epochs, one seed of "
    "five",
    paper_seeds=5,
)
def fig03c(scale: str) -> Iterator[Arm]:
    """Batch norm before the head of VGG-11, with and without that inside."""
    for name, options in (
        ("before the head", {"head_norm": "batch"}),
        ("before the head, no affine", {"head_norm": "batch", "affine": False}),
        ("both", {"norm": "batch", "head_norm": "batch"}),
    ):
        yield gallery(scale, name, vgg(scale, **options), **AS_TRAINED)


@EXPERIMENTS.experiment(
    reduced="3,000 epochs (15,000 at the smallest rate) of 10,000 (50,000), three "
    "seeds of five",
    laptop_seeds=3,
    paper_seeds=5,
)
def fig04a(scale: str) -> Iterator[Arm]:
    """Learning rates; the smallest needs more epochs to get to zero loss."""
    for lr, longer in ((1e-2, 1), (1e-4, 1), (1e-5, 5)):
        epochs = longer * by_scale(scale, 10_000, 3000, 12)
        name = f"learning rate {lr:g}"
        yield cifar(scale, name, optimizer=adamw(lr), epochs=epochs, log=50 * longer)


@EXPERIMENTS.experiment(reduced=SHORT.format("3,000"), laptop_seeds=3, paper_seeds=5)
def fig04b(scale: str) -> Iterator[Arm]:
    """Label smoothing 0.1 in the paper's convention, all of it on wrong classes."""
    smoothing = 0.1 * CLASSES / (CLASSES - 1)
    for dtype in ("float32", "float64"):
        loss = Spec("softmax_cross_entropy", dtype=dtype, smoothing=smoothing)
        yield cifar(scale, f"smoothed, {dtype} loss", loss)


@EXPERIMENTS.experiment(reduced=SHORT.format("3,000"), laptop_seeds=3, paper_seeds=5)
def texts(scale: str) -> Iterator[Arm]:
    """Claims without a figure: bias (B.2.9), clamping (B.2.10), B.3's other W_G."""
    yield cifar(scale, "no head bias", model=deep(scale, head_bias=False))
    yield cifar(scale, "clamped", Spec("clamped_cross_entropy"))
    centred = Spec("projected_cross_entropy", forward=True)
    yield cifar(scale, "centred logits", centred)


# The narrow network of Figure 6 ------------------------------------------------------

CURVATURE = ("sharpness", "adam_curvature")


def narrow(scale: str, name: str, loss: Spec = SOFTMAX32, **rest) -> Arm:
    """The MLP of width 20, whose curvature is measured every 100 epochs."""
    rarely = by_scale(scale, (100, CURVATURE), (100, CURVATURE), (6, CURVATURE))
    model = deep(scale, width=20)
    return cifar(scale, name, loss, model=model, rarely=rarely, **rest)


@EXPERIMENTS.experiment(reduced="3,000 of 10,000 epochs, three seeds", laptop_seeds=3)
def fig06(scale: str) -> Iterator[Arm]:
    """Early oscillations and late slingshots of one narrow network."""
    yield narrow(scale, "float32")
    yield narrow(scale, "float64 loss", SOFTMAX64)
    yield narrow(scale, "float64", SOFTMAX64, dtype="float64")


@EXPERIMENTS.experiment(
    reduced="3,000 of 10,000 epochs, three seeds of five", laptop_seeds=3, paper_seeds=5
)
def fig06near(scale: str) -> Iterator[Arm]:
    """The same network with its curvature at every step around the first slingshot."""
    spikes = ((850, 50), (1570, 1), (6200, 50), (6320, 1), (10_000, 50))
    yield narrow(scale, "float32", log=spikes, observables=(*LOOK, *CURVATURE))


@EXPERIMENTS.experiment(reduced="3,000 of 10,000 epochs, three seeds", laptop_seeds=3)
def causal20(scale: str) -> Iterator[Arm]:
    """The causal table's narrow network."""
    for name, loss, how in causes("layers.5.weight"):
        yield cifar(scale, name, loss, model=deep(scale, width=20), **how)


# The gallery (Figures 7 to 13) -------------------------------------------------------


def modular(scale: str) -> Spec:
    """Division; tokens are a, the operator, b and the equals sign."""
    p = by_scale(scale, 97, 31, 5)
    options = {"equals": True, "operator": True}
    return Spec("modular", p=p, operation="divide", train_fraction=0.5, **options)


def division(
    scale: str,
    name: str,
    loss: Spec = SOFTMAX32,
    *,
    model: Spec,
    laptop: int = 10_000,
    **rest,
) -> Arm:
    """One run of Table 2, in batches of 512 unless told otherwise."""
    options = {"betas": (0.9, 0.999)} | rest.pop("adam", {})
    epochs = by_scale(scale, 100_000, laptop, 12)
    return Arm(
        name,
        modular(scale),
        model,
        loss,
        adamw(**options),
        epochs=epochs,
        log=by_scale(scale, 100, 100, 3),
        schedule=Spec("warmup", over=10),
        **(LOOKED_AT | {"batch_size": by_scale(scale, 512, None, None)} | rest),
    )


def decoder(scale: str) -> Spec:
    """Table 2's transformer, without layer norm; ReLU as in Power et al. 2022."""
    tokens, width = by_scale(scale, (99, 128), (33, 32), (7, 8))
    return Spec(
        "transformer",
        classes=tokens,
        vocabulary=tokens,
        positions=4,
        depth=2,
        width=width,
        hidden=(4 * width,),
        causal=True,
        bias=True,
    )


def tokens(scale: str) -> Spec:
    """Table 2's MLP on four concatenated one-hots."""
    tokens, width = by_scale(scale, (99, 512), (33, 128), (7, 8))
    settings = {"classes": tokens, "vocabulary": tokens, "positions": 4}
    return Spec("mlp", widths=(width,) * 5, **settings)


SMALL = "p = 31 in full batches, width {} of 100,000 steps, one seed of five"


@EXPERIMENTS.experiment(reduced=SMALL.format("32 of 128, 10,000"), paper_seeds=5)
def fig07(scale: str) -> Iterator[Arm]:
    """The modular transformer; also Figures 2c and 3a, and the causal table."""
    model = decoder(scale)
    yield division(scale, "float32", model=model)
    yield division(scale, "float64 loss", SOFTMAX64, model=model)
    for name, loss, how in causes("unembedding.weight"):
        yield division(scale, name, loss, model=model, **how)
    for eps in (1e-6, 1e-5):
        yield division(scale, f"ε {eps:g}", model=model, adam={"eps": eps})
    if scale == "paper":
        yield division(scale, "full batch", model=model, batch_size=None)


@EXPERIMENTS.experiment(reduced=SMALL.format("128 of 512, 40,000"), paper_seeds=5)
def fig08(scale: str) -> Iterator[Arm]:
    """The modular MLP, in batches and whole, and the causal table's arms of it."""
    how = {"model": tokens(scale), "laptop": 40_000}
    yield division(scale, "float32", **how)
    yield division(scale, "float64 loss", SOFTMAX64, **how)
    for name, loss, changes in causes("layers.5.weight"):
        yield division(scale, name, loss, **how, **changes)
    if scale == "paper":
        yield division(scale, "full batch", **how, batch_size=None)


@EXPERIMENTS.experiment(
    reduced="500 of 50,000 images, 3,000 of 10,000 epochs, three seeds",
    laptop_seeds=3,
    paper_seeds=3,
)
def fig09(scale: str) -> Iterator[Arm]:
    """More images (B.2.7); the arm of 200 is that of fig01."""
    for samples in by_scale(scale, (2000, 20_000, 50_000), (500,), (12,)):
        data = {"dataset": images(scale, samples)}
        yield cifar(scale, f"{samples:,} images", data=data)


@EXPERIMENTS.experiment(
    reduced="not from a loss of exactly zero, three seeds of five",
    laptop_seeds=3,
    paper_seeds=5,
)
def fig09descent(scale: str) -> Iterator[Arm]:
    """From Adam to gradient descent (B.2.2), with the loss in either precision.

    The paper's rate is 1e5, from a loss of zero on. That comes thousands of epochs
    after the first slingshot, so the other arms begin where nine of ten samples have
    a loss of zero; the smaller rates are ours.
    """

    def switched(name: str, loss: Spec, lr: float, at: float, epochs: int) -> Arm:
        wrappers = (Spec("descend_from", loss=at, lr=lr),)
        return cifar(scale, name, loss, wrappers=wrappers, epochs=epochs)

    for name, loss, rates in (
        ("float32", SOFTMAX32, (1e5, 1e4, 1e3, 1e2)),
        ("float64 loss", SOFTMAX64, (1e5, 1e4, 1e3)),
    ):
        for lr in rates:
            epochs = 3000 if lr < 1e4 else 1000  # a pilot found NaN after ten steps
            yield switched(f"{name}, rate {lr:,.0f}", loss, lr, NEARLY_ZERO, epochs)
    if scale == "paper":
        yield switched("float32, from a loss of zero", SOFTMAX32, 1e5, 0.0, 7000)


def gallery(scale: str, name: str, model: Spec, loss: Spec = SOFTMAX32, **rest) -> Arm:
    """A network of images, on a laptop with half of them and fewer epochs."""
    samples = rest.pop("samples", by_scale(scale, 200, 100, 12))
    return cifar(
        scale,
        name,
        loss,
        model=model,
        epochs=rest.pop("epochs", by_scale(scale, 10_000, 2000, 6)),
        data={"dataset": images(scale, samples, tests=200)},
        **rest,
    )


def vgg(scale: str, **options) -> Spec:
    width = by_scale(scale, 64, 8, 4)
    return Spec("vgg11", classes=CLASSES, width=width, **options)


def resnet(scale: str, **options) -> Spec:
    width = by_scale(scale, 64, 8, 4)
    settings = {"stem": "cifar", "width": width, "start": "torch"} | options
    return Spec("resnet18", classes=CLASSES, **settings)


NARROW = "100 of 200 images, width 8 of 64, 2,000 of 10,000 epochs, {} of five"


@EXPERIMENTS.experiment(
    reduced=NARROW.format("three seeds"), laptop_seeds=3, paper_seeds=5
)
def fig10(scale: str) -> Iterator[Arm]:
    """VGG-11, and the causal table's arms of it."""
    yield gallery(scale, "float32", vgg(scale))
    yield gallery(scale, "float64 loss", vgg(scale), SOFTMAX64)
    for name, loss, how in causes("head.weight"):
        yield gallery(scale, name, vgg(scale), loss, **how)


@EXPERIMENTS.experiment(
    reduced="100 of 50,000 images in batches of 25, width 8 of 64, 8,000 of 1,000,000 "
    "steps, three seeds",
    laptop_seeds=3,
    paper_seeds=3,
)
def batches(scale: str) -> Iterator[Arm]:
    """VGG-11 in batches (B.3.1), and what should slow down the growth of its mean."""
    centred = Spec("centre_rows", names=("head.weight",))
    normed = vgg(scale, head_norm="batch")
    for name, model, how in (
        ("float32", vgg(scale), {}),
        ("W_G subtracted", vgg(scale), {"wrappers": (centred,)}),
        ("before the head", normed, AS_TRAINED),
    ):
        yield gallery(
            scale,
            name,
            model,
            samples=by_scale(scale, 50_000, 100, 12),
            batch_size=by_scale(scale, 256, 25, 6),
            epochs=by_scale(scale, 1_000_000, 8000, 6),
            log=by_scale(scale, 5000, 100, 3),
            **how,
        )


@EXPERIMENTS.experiment(reduced=NARROW.format("one seed"), paper_seeds=5)
def fig11(scale: str) -> Iterator[Arm]:
    """VGG-11 with batch norm after every convolution; also Figure 3c."""
    model = vgg(scale, norm="batch")
    yield gallery(scale, "float32", model, **AS_TRAINED)
    yield gallery(scale, "float64 loss", model, SOFTMAX64, **AS_TRAINED)


@EXPERIMENTS.experiment(
    reduced="100 of 2,000 images, width 32 of 256, depth 2 of 12, 2,000 of 10,000 "
    "epochs, three seeds",
    laptop_seeds=3,
    paper_seeds=3,
)
def fig12(scale: str) -> Iterator[Arm]:
    """The ViT; batches of 2,048 are whole with 2,000 images, an inferred number."""
    width, depth, heads = by_scale(scale, (256, 12, 8), (32, 2, 4), (8, 2, 2))
    options = {"width": width, "depth": depth, "heads": heads, "hidden": 4 * width}
    model = Spec("vit", classes=CLASSES, **options)
    samples = by_scale(scale, 2000, 100, 12)
    yield gallery(scale, "float32", model, samples=samples)
    yield gallery(scale, "float64 loss", model, SOFTMAX64, samples=samples)


@EXPERIMENTS.experiment(reduced=NARROW.format("one seed"), paper_seeds=5)
def fig13(scale: str) -> Iterator[Arm]:
    """ResNet-18, and what else it has: batch norm, a learning rate."""
    model, slow = resnet(scale), adamw(1e-4)
    yield gallery(scale, "float32", model, **AS_TRAINED)
    yield gallery(scale, "float64 loss", model, SOFTMAX64, **AS_TRAINED)
    yield gallery(scale, "no batch norm", resnet(scale, norm=None))
    yield gallery(scale, "learning rate 1e-4", model, optimizer=slow, **AS_TRAINED)


# The language model (Table 4) --------------------------------------------------------

TABLE4 = {
    "dataset": "FineWeb, GPT-2 tokens",
    "dataset.block": "2,048",
    "dataset.vocabulary": "50,304",
    "model": "decoder: rotary, SwiGLU, LayerNorm, query-key norm, untied, no bias",
    "model.initialisation": "embedding N(0, 1/d), Xavier",
    "loss": "cross-entropy in float32 or float64",
    "optimizer": "AdamW",
    "optimizer.betas": "(0.9, 0.95)",
    "optimizer.eps": "1e-08",
    "optimizer.weight_decay": "0",
    "gradient": "clipped at 1",
    "schedule": "cosine to 1e-5",
    "schedule.warmup": "5,000",
    "batch size": "64 sequences",
    "steps": "100,000",
    "autocast": "bfloat16",
}
"""What Table 4 says; peak rate, depth, width, heads and seed are missing there."""


@EXPERIMENTS.experiment(
    reduced="0.26 of 140.6 million weights, 8,192 tokens of FineWeb-Edu read again and "
    "again in batches of 512, a vocabulary of 2,048 of 50,304, 2,000 of 100,000 steps, "
    "three seeds of five",
    laptop_seeds=3,
    paper_seeds=5,
)
def fig05(scale: str) -> Iterator[Arm]:
    """Size, rate and start from the code that the paper follows, "109M" at rate 0.1."""
    block, blocks = by_scale(scale, (2048, None), (64, 128), (8, 4))
    vocabulary = by_scale(scale, 50_257, 2048, 256)
    text = {"corpus": "fineweb-edu", "vocabulary": vocabulary, "train_blocks": blocks}
    tests = by_scale(scale, 16, 32, 2)
    depth, width, hidden = by_scale(scale, (15, 640, 1792), (4, 64, 176), (1, 16, 16))
    size = {"depth": depth, "width": width, "heads": 4, "hidden": hidden}
    steps, warmup = by_scale(scale, (100_000, 5000), (2000, 100), (6, 2))
    centred = Spec("centre_rows", names=("unembedding.weight",))
    clipped = Spec("clip", norm=1.0)
    for name, loss, wrappers, autocast in (
        ("float32 loss", SOFTMAX32, (clipped,), "bfloat16"),
        ("float64 loss", SOFTMAX64, (clipped,), "bfloat16"),
        ("W_G subtracted", SOFTMAX32, (clipped, centred), "bfloat16"),
        ("float32 loss, float32 logits", SOFTMAX32, (clipped,), None),
        ("float64 loss, float32 logits", SOFTMAX64, (clipped,), None),
    ):
        yield Arm(
            name,
            Spec("wikitext", block=block, test_blocks=tests, **text),
            # the table pads the 50,257 tokens of the text to 50,304
            Spec("decoder", vocabulary=by_scale(scale, 50_304, 2048, 256), **size),
            loss,
            adamw(0.1),
            epochs=steps,
            log=by_scale(scale, 1000, 100, 3),
            batch_size=by_scale(scale, 64, 8, 2),
            wrappers=wrappers,
            schedule=Spec("cosine", warmup=warmup),
            autocast=autocast,
            eval_batch=by_scale(scale, 4, 32, 2),
            **LOOKED_AT | {"observables": ("core", "mean_logits", "head_means")},
        )


# Theory ------------------------------------------------------------------------------


@EXPERIMENTS.experiment(
    reduced="10,000 of 40,000 steps, three seeds of five",
    laptop_seeds=3,
    paper_seeds=5,
)
def free(scale: str) -> Iterator[Arm]:
    """Free features and a head without bias: inflation in the theory's own setting."""
    epochs = by_scale(scale, 40_000, 10_000, 12)
    rows, width = by_scale(scale, (200, 64), (200, 64), (20, 8))
    model = Spec("free_features", classes=CLASSES, rows=rows, width=width)
    for name, loss in (
        ("float32", SOFTMAX32),
        ("float64 loss", SOFTMAX64),
        ("projection", PROJECTED),
        ("repair", REPAIRED),
    ):
        yield Arm(
            name,
            Spec("balanced_rows", classes=CLASSES, per_class=rows // CLASSES),
            model,
            loss,
            adamw(),
            epochs=epochs,
            log=by_scale(scale, 200, 200, 3),
            **LOOKED_AT,
        )
